import { execFile, execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { mkdir, rename, rm } from 'node:fs/promises'
import { homedir } from 'node:os'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

export type KubernetesProgram = 'kube-apiserver' | 'kube-controller-manager' | 'kube-scheduler'

const names: readonly KubernetesProgram[] = ['kube-apiserver', 'kube-controller-manager', 'kube-scheduler']
const module = fileURLToPath(new URL('module', import.meta.url))
const moduleText = readFileSync(join(module, 'go.mod'), 'utf8')
const [, version = ''] = /^require k8s\.io\/kubernetes v(\S+)$/m.exec(moduleText) ?? []
const [, goVersion = ''] = /^go (\d+\.\d+)/m.exec(moduleText) ?? []

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

/** Says what this machine lacks for a cluster; undefined if nothing. */
export function findObstacle(): string | undefined {
  if (process.platform !== 'linux') return 'pods run in namespaces of Linux'
  if (process.getuid?.() !== 0) return 'pods run as other users, and this is not root'
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
    const words = ['build', '-mod=readonly', `-ldflags=-s -w ${flags.join(' ')}`, '-o', `${incomplete}/`]
    const packages = names.map((name) => `k8s.io/kubernetes/cmd/${name}`)
    const env = { ...process.env, GOTOOLCHAIN: 'local', CGO_ENABLED: '0' }
    await promisify(execFile)('go', [...words, ...packages], { cwd: module, env })
    await rm(folder, { recursive: true, force: true })
    await rename(incomplete, folder)
  } finally {
    await rm(incomplete, { recursive: true, force: true })
  }
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
