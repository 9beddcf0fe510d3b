import { ChildProcess } from 'node:child_process'
import { Server, Socket } from 'node:net'

// Vitest loads this before tests that may open no socket and start no process.
Server.prototype.listen = refuse
Socket.prototype.connect = refuse
Object.assign(ChildProcess.prototype, { spawn: refuse })

function refuse(): never {
  throw new Error(
    'a unit test must not open a socket or start a process; move it out of vitest.unit.config.ts',
  )
}
