package process

import "syscall"

func killWithThread(attributes *syscall.SysProcAttr) { attributes.Pdeathsig = syscall.SIGKILL }
