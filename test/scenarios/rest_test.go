package scenarios_test
func transports() []story { return nil }
func resumptions() []story { return nil }
func redeliveries() []story { return nil }
func recoveries() []story { return nil }
func layers() []story { return nil }
func identities() []story { return nil }
func crowds() []story { return nil }
func falseReports() []story { return nil }
func money() []story { return nil }
