import { execFile, execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { copyFile, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { delimiter, join } from 'node:path'
import { promisify } from 'node:util'

export type KubernetesProgram = 'kube-apiserver' | 'kube-controller-manager'

const run = promisify(execFile)
const names: readonly KubernetesProgram[] = ['kube-apiserver', 'kube-controller-manager']
const version = '1.36.3'
const goVersion = '1.26'

/** Outside of the repository, so that all its copies share the programs. */
const cacheFolder =
  process.env['KUBERNETES_CACHE'] ??
  join(process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'catalog-gateway', 'kubernetes')
const folder = join(cacheFolder, version)

/** The file of a program of Kubernetes. It exists after `buildPrograms`. */
export function programFile(name: KubernetesProgram): string {
  return join(folder, name)
}

export function arePrograms(): boolean {
  return names.every((name) => existsSync(programFile(name)))
}

/** Says what this machine lacks for an API server; undefined if nothing. */
export function findObstacle(): string | undefined {
  if (process.platform !== 'linux') return 'its programs end with the tests by a signal of Linux'
  if (!isOnPath('etcd')) return 'there is no etcd (Debian: etcd-server)'
  if (arePrograms()) return undefined
  const [major = 0, minor = 0] = findGoVersion()
  const [wantedMajor = 0, wantedMinor = 0] = goVersion.split('.').map(Number)
  const isNewEnough = major > wantedMajor || (major === wantedMajor && minor >= wantedMinor)
  return isNewEnough ? undefined : `Kubernetes is not built, and there is no Go ${goVersion}`
}

/** Builds the programs unless they are in the cache; takes some ten minutes on two cores. */
export async function buildPrograms(): Promise<void> {
  if (arePrograms()) return
  // Its name says that it is incomplete: an interrupted build is not used.
  const incomplete = `${folder}.${process.pid}.incomplete`
  await mkdir(incomplete, { recursive: true })
  try {
    const [major, minor] = version.split('.')
    const component = 'k8s.io/component-base/version'
    const numbers = { gitVersion: `v${version}`, gitMajor: major, gitMinor: minor }
    const flags = Object.entries(numbers).map(([name, value]) => `-X ${component}.${name}=${value}`)
    const words = ['build', '-mod=mod', `-ldflags=-s -w ${flags.join(' ')}`, '-o', `${incomplete}/`]
    const packages = names.map((name) => `k8s.io/kubernetes/cmd/${name}`)
    const env = { ...process.env, GOTOOLCHAIN: 'local', CGO_ENABLED: '0' }
    const cwd = join(incomplete, 'module')
    await writeModule(cwd)
    await run('go', [...words, ...packages], { cwd, env })
    await rm(cwd, { recursive: true })
    await rm(folder, { recursive: true, force: true })
    await rename(incomplete, folder)
  } finally {
    await rm(incomplete, { recursive: true, force: true })
  }
}

/**
 * Writes a module that has Kubernetes' own versions of its dependencies. Go checks it, and what its `go.sum` does not
 * name, by the checksum database.
 */
async function writeModule(target: string): Promise<void> {
  await mkdir(target)
  const words = ['mod', 'download', '-json', `k8s.io/kubernetes@v${version}`]
  const { Dir } = JSON.parse((await run('go', words, { cwd: target })).stdout) as { readonly Dir: string }
  const text = await readFile(join(Dir, 'go.mod'), 'utf8')
  // Its parts are published as modules of their own: v0.36.3 for 1.36.3.
  const published = text
    .replace('module k8s.io/kubernetes', `module programs\n\nrequire k8s.io/kubernetes v${version}`)
    .replaceAll(/=> \.\/staging\/src\/(\S+)/g, `=> $1 v0${version.slice(1)}`)
  await writeFile(join(target, 'go.mod'), published)
  await copyFile(join(Dir, 'go.sum'), join(target, 'go.sum'))
}

function isOnPath(program: string): boolean {
  return (process.env['PATH'] ?? '').split(delimiter).some((folder) => existsSync(join(folder, program)))
}

function findGoVersion(): readonly number[] {
  try {
    const env = { ...process.env, GOTOOLCHAIN: 'local' }
    const [, major, minor] =
      /go(\d+)\.(\d+)/.exec(execFileSync('go', ['version'], { env, encoding: 'utf8' })) ?? []
    return [Number(major), Number(minor)]
  } catch {
    return []
  }
}
