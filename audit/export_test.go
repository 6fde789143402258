// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package audit

// Grow appends records to a log as a [Follower] does.
func Grow(dir, private string, records [][]byte) (int64, error) {
	a, err := openAppender(dir, private)
	if err != nil {
		return 0, err
	}
	defer func() { _ = a.close() }()
	err = a.append(records)
	return a.at.Size, err
}

// Regrow appends as one who had read an earlier checkpoint.
func Regrow(dir, private string, from Checkpoint, records [][]byte) (int64, error) {
	a, err := openAppender(dir, private)
	if err != nil {
		return 0, err
	}
	defer func() { _ = a.close() }()
	a.at = from
	err = a.append(records)
	return a.at.Size, err
}

// Holding appends to a log until release is called.
func Holding(dir, private string) (release func() error, err error) {
	a, err := openAppender(dir, private)
	if err != nil {
		return nil, err
	}
	return a.close, nil
}
