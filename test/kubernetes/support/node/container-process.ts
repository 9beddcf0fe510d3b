import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync } from 'node:fs'
import { mkdir, readFile, stat, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { readImageNodeOptions } from '../../../support/image-node-options.ts'

export interface Mount {
  readonly source: string
  /** The path in the container. */
  readonly target: string
  readonly isReadOnly: boolean
}

export interface ProcessOptions {
  /** An own folder, for the root of the container. */
  readonly folder: string
  readonly words: readonly string[]
  readonly environment: Readonly<Record<string, string>>
  readonly user: number
  readonly group: number
  readonly supplementaryGroups: readonly number[]
  readonly hasReadOnlyRoot: boolean
  readonly mounts: readonly Mount[]
  readonly logFile: string
}

/** Exit code of a process, as a container runtime reports it: 128 plus the signal if one ended it. */
export type ExitCode = number

/** A container: a process in its own mount and PID namespaces, in which it is the first one. */
export interface ContainerProcess {
  /** On this machine; undefined while its root is being prepared. */
  readonly pid: number | undefined
  readonly exited: Promise<ExitCode>
  signal(signal: 'SIGKILL' | 'SIGTERM'): void
  /** Runs another program in the container; resolves with its exit code. */
  run(words: readonly string[]): Promise<ExitCode>
}

const signals: Readonly<Record<string, number>> = { SIGKILL: 9, SIGSEGV: 11, SIGTERM: 15 }
/** What the image takes from this machine instead of a base image. */
const systemFolders = ['bin', 'sbin', 'lib', 'lib64']
const projectFolder = fileURLToPath(new URL('../../../../', import.meta.url))
const project = [
  'dist',
  'node_modules',
  'package.json',
  'policies',
  'src/backend/dist',
  'src/backend/package.json',
]
const preload = fileURLToPath(new URL('listen-on-pod-address.cjs', import.meta.url))
const devices = ['null', 'zero', 'random', 'urandom']

/** The command and the environment of the image. */
export const image = {
  entrypoint: ['node', '/app/dist/main.js'],
  user: 10_001,
  environment: {
    PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
    NODE_ENV: 'production',
    NODE_OPTIONS: `${readImageNodeOptions()} --require=/dev/listen-on-pod-address.cjs`,
  },
} as const

/** Starts a container of this project's image. It ends with this process at the latest. */
export async function startContainer(options: ProcessOptions): Promise<ContainerProcess> {
  const root = join(options.folder, 'root')
  await mkdir(root, { recursive: true })
  const script = join(options.folder, 'start.sh')
  await writeFile(script, await createScript(root, options))
  const log = openSync(options.logFile, 'a')
  const namespaces = ['--mount', '--pid', '--fork', '--kill-child']
  const child = spawn('setpriv', ['--pdeathsig', 'KILL', 'unshare', ...namespaces, 'sh', script], {
    env: options.environment,
    stdio: ['ignore', log, log],
  })
  closeSync(log)
  const exited = toExitCode(child)
  const pid = await findChild(child)
  return {
    pid,
    exited,
    signal: (signal) => void (pid === undefined ? child.kill(signal) : killIfRunning(pid, signal)),
    run: (words) => {
      const entering = ['--target', String(pid), '--mount', '--pid', '--root', 'env', '-C', '/app']
      const other = spawn('nsenter', [...entering, ...dropPrivileges(options), ...words], {
        env: options.environment,
        stdio: 'ignore',
      })
      return toExitCode(other)
    },
  }
}

/** Makes a root like the image's, mounts volumes, and becomes the process of the container. */
async function createScript(root: string, options: ProcessOptions): Promise<string> {
  const folders = [
    ...systemFolders.map((name) => `usr/${name}`),
    'usr/local/bin',
    'app',
    'etc',
    'proc',
    'dev',
    'tmp',
  ]
  const mounts: readonly Mount[] = [
    ...systemFolders.map((name) => ({ source: `/usr/${name}`, target: `/usr/${name}`, isReadOnly: true })),
    { source: process.execPath, target: '/usr/local/bin/node', isReadOnly: true },
    ...project.map((name) => ({
      source: join(projectFolder, name),
      target: `/app/${name}`,
      isReadOnly: true,
    })),
    ...devices.map((name) => ({ source: `/dev/${name}`, target: `/dev/${name}`, isReadOnly: false })),
    { source: preload, target: '/dev/listen-on-pod-address.cjs', isReadOnly: true },
    ...options.mounts.toSorted((one, other) => depth(one.target) - depth(other.target)),
  ]
  const lines = [
    'set -e',
    `mount -t tmpfs -o mode=755 none ${quote(root)}`,
    `mkdir -p ${folders.map((name) => quote(join(root, name))).join(' ')}`,
    `chmod 1777 ${quote(join(root, 'tmp'))}`,
    ...systemFolders.map((name) => `ln -s usr/${name} ${quote(join(root, name))}`),
    `mount -t proc none ${quote(join(root, 'proc'))}`,
    "printf 'hosts: files\\n' > " + quote(join(root, 'etc/nsswitch.conf')),
    `ln -s /dev/names/hosts ${quote(join(root, 'etc/hosts'))}`,
    ...(await Promise.all(mounts.map((mount) => mountLine(root, mount)))),
    ...(options.hasReadOnlyRoot ? [`mount -o remount,ro ${quote(root)}`] : []),
  ]
  const words = ['chroot', root, 'env', '-C', '/app', ...dropPrivileges(options), ...options.words]
  return [...lines, `exec ${words.map(quote).join(' ')}`, ''].join('\n')
}

async function mountLine(root: string, { source, target, isReadOnly }: Mount): Promise<string> {
  const path = join(root, target)
  const isFolder = (await stat(source)).isDirectory()
  const place = isFolder
    ? `mkdir -p ${quote(path)}`
    : `mkdir -p ${quote(dirname(path))}; [ -e ${quote(path)} ] || : > ${quote(path)}`
  const bind = `mount --bind ${quote(source)} ${quote(path)}`
  return `${place}; ${bind}${isReadOnly ? `; mount -o remount,bind,ro ${quote(path)}` : ''}`
}

/** No capabilities, and no new ones: pods without them are not modelled. */
function dropPrivileges({ user, group, supplementaryGroups }: ProcessOptions): readonly string[] {
  const groups =
    supplementaryGroups.length === 0 ? '--clear-groups' : `--groups=${supplementaryGroups.join(',')}`
  const identity = [`--reuid=${user}`, `--regid=${group}`, groups]
  return ['setpriv', '--pdeathsig', 'KILL', ...identity, '--no-new-privs', '--bounding-set=-all']
}

function depth(path: string): number {
  return path.split('/').length
}

function quote(word: string): string {
  return `'${word.replaceAll("'", String.raw`'\''`)}'`
}

async function toExitCode(child: ChildProcess): Promise<ExitCode> {
  const [code, signal] = (await once(child, 'exit')) as [number | null, NodeJS.Signals | null]
  return code ?? 128 + (signals[signal ?? ''] ?? 0)
}

/** The first process in the namespaces. */
async function findChild(parent: ChildProcess): Promise<number | undefined> {
  const file = `/proc/${parent.pid}/task/${parent.pid}/children`
  for (;;) {
    const text = await readFile(file, 'utf8').catch(() => undefined)
    const isRunning = parent.exitCode === null && parent.signalCode === null
    if (text === undefined || !isRunning) return undefined
    if (text.trim() !== '') return Number(text.trim())
    await setTimeout(5)
  }
}

function killIfRunning(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal)
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error
  }
}
