import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { createClient } from '@redis/client'
import { onTestFinished } from 'vitest'
import { freePort } from '../../support/free-port.ts'
import { findRedis } from './find-redis.ts'
import { isProvided } from '../../support/requirements.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { eventually } from '../../support/eventually.ts'

const program = findRedis()

/** The tests are skipped then. */
export const isWithoutRedis = !isProvided('redis', () => program !== undefined)

export interface RunningRedis {
  readonly port: number
  command(...words: string[]): Promise<unknown>
  /** Suspends the process like a hung one; it still accepts connections. */
  pause(): void
  resume(): void
  kill(): Promise<void>
  /** Starts it again on the same port without its data. */
  start(): Promise<void>
}

interface RedisOptions {
  readonly options?: readonly string[]
  /** Client TLS files if the server requires TLS. */
  readonly tls?: { readonly ca: string; readonly cert: string; readonly key: string }
}

export async function startRedis({ options = [], tls }: RedisOptions = {}): Promise<RunningRedis> {
  const [folder, port] = [await temporaryFolder(), await freePort()]
  const ports = tls ? ['--port', '0', '--tls-port', String(port)] : ['--port', String(port)]
  const usual = [...ports, '--bind', '127.0.0.1', '--dir', folder, '--save', '', '--appendonly', 'no']
  let server: ChildProcess | undefined
  const redis: RunningRedis = {
    port,
    async command(...words) {
      const socket = { host: '127.0.0.1', port, reconnectStrategy: false as const }
      const client = createClient({ RESP: 2, socket: tls ? { ...socket, tls: true, ...tls } : socket })
      client.on('error', () => undefined)
      await client.connect()
      try {
        return await client.sendCommand(words)
      } finally {
        client.destroy()
      }
    },
    pause: () => server?.kill('SIGSTOP'),
    resume: () => server?.kill('SIGCONT'),
    async kill() {
      if (server?.exitCode === null && server.signalCode === null) {
        const exited = once(server, 'exit')
        server.kill('SIGKILL')
        await exited
      }
      server = undefined
    },
    async start() {
      server = spawn(program ?? '', [...usual, ...options], { cwd: folder, stdio: 'ignore' })
      await eventually(() => redis.command('PING'))
    },
  }
  onTestFinished(() => redis.kill())
  await redis.start()
  return redis
}
