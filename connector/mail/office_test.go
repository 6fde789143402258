// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package mail_test

import (
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"testing"
)

// office is a Postfix that hands what it takes to a Dovecot, in folders and at ports of their own. The two want to be started by root.
type office struct {
	smtp, imap int
	log        string
}

func startOffice(t *testing.T) office {
	t.Helper()
	for _, program := range []string{"/usr/sbin/postfix", "/usr/sbin/dovecot", "/usr/lib/dovecot/dovecot-lda"} {
		if _, err := os.Stat(program); err != nil {
			t.Fatalf("%s is not installed; run scripts/setup-tests: %v", program, err)
		}
	}
	if os.Geteuid() != 0 {
		t.Fatal("Postfix and Dovecot can be started by root only; run this test as root, in a container")
	}
	// Postfix wants folders that others cannot write to, all the way up, and short names of sockets.
	folder, err := os.MkdirTemp("/var/tmp", "office")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	if err := os.Chmod(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	o := office{smtp: freePort(t), log: "/var/log/" + filepath.Base(folder) + ".log"}
	o.imap = startDovecot(t, folder)
	startPostfix(t, folder, o)
	return o
}

func startDovecot(t *testing.T, folder string) (port int) {
	t.Helper()
	port = freePort(t)
	keeper := account0(t, "nobody")
	mails := filepath.Join(folder, "mails")
	makeFolder(t, mails, keeper)
	config := filepath.Join(folder, "dovecot.conf")
	write(t, filepath.Join(folder, "dovecot.log"), "")
	// What puts mails into mailboxes runs as their keeper.
	if err := os.Chown(filepath.Join(folder, "dovecot.log"), keeper.uid, keeper.gid); err != nil {
		t.Fatal(err)
	}
	write(t, config, fmt.Sprintf(`
base_dir = %[1]s/run
state_dir = %[1]s/state
log_path = %[1]s/dovecot.log
protocols = imap
listen = 127.0.0.1
ssl = no
disable_plaintext_auth = no
mail_location = maildir:%[2]s/%%n
first_valid_uid = 1
mail_privileged_group =
passdb {
  driver = static
  args = password=secret
}
userdb {
  driver = static
  args = uid=%[3]d gid=%[4]d home=%[2]s/%%n
}
service imap-login {
  chroot =
  inet_listener imap {
    port = %[5]d
  }
  inet_listener imaps {
    port = 0
  }
}
service anvil {
  chroot =
}
service stats {
  unix_listener stats-writer {
    mode = 0666
  }
}
service auth {
  unix_listener auth-userdb {
    mode = 0666
  }
}
`, folder, mails, keeper.uid, keeper.gid, port))
	command := exec.Command("/usr/sbin/dovecot", "-F", "-c", config)
	run(t, command)
	await(t, "Dovecot", listens(port))
	return port
}

func startPostfix(t *testing.T, folder string, o office) {
	t.Helper()
	config, queue, data := filepath.Join(folder, "etc"), filepath.Join(folder, "queue"), filepath.Join(folder, "data")
	postfix := account0(t, "postfix")
	makeFolder(t, config, identity{})
	makeFolder(t, queue, identity{})
	makeFolder(t, data, postfix)
	write(t, filepath.Join(config, "main.cf"), fmt.Sprintf(`
compatibility_level = 3.6
queue_directory = %[1]s
data_directory = %[2]s
mail_owner = postfix
setgid_group = postdrop
maillog_file = %[3]s
myhostname = mx.example.org
mydestination =
inet_interfaces = 127.0.0.1
inet_protocols = ipv4
mynetworks = 127.0.0.0/8
virtual_mailbox_domains = example.org
virtual_transport = dovecot
dovecot_destination_recipient_limit = 1
alias_maps =
alias_database =
biff = no
`, queue, data, o.log))
	write(t, filepath.Join(config, "master.cf"), fmt.Sprintf(`
127.0.0.1:%d inet n - n - - smtpd
pickup unix n - n 60 1 pickup
cleanup unix n - n - 0 cleanup
qmgr unix n - n 300 1 qmgr
tlsmgr unix - - n 1000? 1 tlsmgr
rewrite unix - - n - - trivial-rewrite
bounce unix - - n - 0 bounce
defer unix - - n - 0 bounce
trace unix - - n - 0 bounce
verify unix - - n - 1 verify
flush unix n - n 1000? 0 flush
proxymap unix - - n - - proxymap
smtp unix - - n - - smtp
error unix - - n - - error
retry unix - - n - - error
discard unix - - n - - discard
anvil unix - - n - 1 anvil
scache unix - - n - 1 scache
postlog unix-dgram n - n - 1 postlogd
dovecot unix - n n - - pipe
  flags=Rhu user=nobody:nogroup argv=/usr/lib/dovecot/dovecot-lda -c %s/dovecot.conf -f ${sender} -d ${user}
`, o.smtp, folder))
	t.Cleanup(func() {
		if t.Failed() {
			told, _ := os.ReadFile(o.log)
			more, _ := os.ReadFile(filepath.Join(folder, "dovecot.log"))
			t.Logf("%s%s", told, more)
		}
		_ = os.Remove(o.log)
	})
	control := func(verb string) {
		if out, err := exec.Command("/usr/sbin/postfix", "-c", config, verb).CombinedOutput(); err != nil {
			t.Fatalf("postfix %s: %v\n%s", verb, err, out)
		}
	}
	control("start")
	t.Cleanup(func() { control("stop") })
	await(t, "Postfix", listens(o.smtp))
}

type identity struct{ uid, gid int }

// account0 is a user of the system.
func account0(t *testing.T, name string) identity {
	t.Helper()
	found, err := user.Lookup(name)
	if err != nil {
		t.Fatal(err)
	}
	uid, err := strconv.Atoi(found.Uid)
	if err != nil {
		t.Fatal(err)
	}
	gid, err := strconv.Atoi(found.Gid)
	if err != nil {
		t.Fatal(err)
	}
	return identity{uid, gid}
}

func makeFolder(t *testing.T, name string, owner identity) {
	t.Helper()
	if err := os.Mkdir(name, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(name, owner.uid, owner.gid); err != nil {
		t.Fatal(err)
	}
}

func write(t *testing.T, name, content string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}
