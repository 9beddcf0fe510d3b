import { spawn, type ChildProcess } from 'node:child_process'
import { closeSync, openSync } from 'node:fs'
import { readFile, truncate } from 'node:fs/promises'
import { connect } from 'node:net'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { onCore } from './cores.ts'

const timeoutMs = 60_000

const running = new Set<ChildProcess>()
let isStopping = false

export interface ServerStart {
  readonly name: string
  /** Folder for its log, `NAME.log`. */
  readonly folder: string
  readonly command: readonly [string, ...string[]]
  readonly port: number
  /** Core to run on; undefined for any. */
  readonly core: number | undefined
  readonly environment?: Readonly<Record<string, string>>
}

export interface ServerProcess {
  readonly pid: number
  readonly port: number
  /** Throws if it has exited. */
  assertRunning(): void
  /** Truncates the log, so that long runs do not fill the disk. */
  emptyLog(): Promise<void>
  stop(): Promise<void>
}

/** Starts a server and waits until it accepts connections. Rejects with the end of its output on failure. */
export async function startServer({
  name,
  folder,
  command,
  port,
  core,
  environment = {},
}: ServerStart): Promise<ServerProcess> {
  if (isStopping) throw new Error('everything is being stopped')
  const log = join(folder, `${name}.log`)
  const output = openSync(log, 'a')
  const [program, ...parameters] = onCore(core, command)
  const child = spawn(program, parameters, {
    stdio: ['ignore', output, output],
    cwd: folder,
    env: { ...process.env, ...environment },
  })
  closeSync(output)
  running.add(child)
  child.once('exit', () => running.delete(child))
  let failure: Error | undefined
  child.once('error', (error) => (failure = error))
  const deadline = Date.now() + timeoutMs
  while (!(await takesConnections(port))) {
    const isOver = failure !== undefined || hasEnded(child)
    if (isOver || Date.now() > deadline) {
      await stopProcess(child)
      const why = failure?.message ?? (isOver ? 'it ended' : 'it does not listen')
      throw new Error(`${why}: ${await endOf(log)}`)
    }
    await pause(20)
  }
  return {
    pid: child.pid ?? 0,
    port,
    assertRunning() {
      if (hasEnded(child)) throw new Error(`${name} has ended by itself`)
    },
    emptyLog: () => truncate(log),
    stop: () => stopProcess(child),
  }
}

export async function stopServers(): Promise<void> {
  await Promise.all([...running].map(stopProcess))
}

/** Stops all servers, including those that are starting, and prevents further starts. */
export async function stopForGood(): Promise<void> {
  isStopping = true
  await stopServers()
}

function takesConnections(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ port, host: '127.0.0.1' })
    const finish = (isOpen: boolean): void => {
      socket.destroy()
      resolve(isOpen)
    }
    socket.once('connect', () => finish(true)).once('error', () => finish(false))
  })
}

async function stopProcess(child: ChildProcess): Promise<void> {
  if (child.pid === undefined || hasEnded(child)) return
  const ended = new Promise((resolve) => child.once('exit', resolve))
  child.kill('SIGTERM')
  const impatience = setTimeout(() => child.kill('SIGKILL'), 5_000)
  await ended
  clearTimeout(impatience)
}

function hasEnded(child: ChildProcess): boolean {
  return child.exitCode !== null || child.signalCode !== null
}

async function endOf(log: string): Promise<string> {
  const text = await readFile(log, 'utf8')
  return text.trim().split('\n').slice(-4).join(' | ') || 'it printed nothing'
}
