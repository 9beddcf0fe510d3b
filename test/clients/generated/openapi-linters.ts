import { execFile } from 'node:child_process'
import { access, mkdir, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { cachedClient } from '../clients-cache.ts'

const run = promisify(execFile)
const packages = ['@redocly/cli@2.77.0', '@stoplight/spectral-cli@6.16.3']
const folder = cachedClient('openapi-linters-2')
const installMs = 240_000

/** Installs the linters unless they are in the cache. Rejects if that is not possible. */
export async function installLinters(): Promise<void> {
  const isCached = await access(folder).then(
    () => true,
    () => false,
  )
  if (isCached) return
  // Its name says that it is incomplete: an interrupted installation is not used.
  const incomplete = `${folder}.incomplete`
  await rm(incomplete, { recursive: true, force: true })
  await mkdir(incomplete, { recursive: true })
  await writeFile(join(incomplete, 'package.json'), '{}')
  await writeFile(join(incomplete, 'spectral.yaml'), 'extends: ["spectral:oas"]')
  const options = ['--no-audit', '--no-fund', '--ignore-scripts', '--silent']
  await run('npm', ['install', ...options, ...packages], { cwd: incomplete, timeout: installMs })
  await rename(incomplete, folder)
}

/** Runs a linter on a document with its recommended rules. Rejects if it finds anything. */
export async function lint(linter: 'redocly' | 'spectral', document: string): Promise<void> {
  const options =
    linter === 'redocly'
      ? ['lint', '--extends', 'recommended-strict', document]
      : ['lint', '--fail-severity', 'hint', '--ruleset', 'spectral.yaml', document]
  const env = { ...process.env, REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' }
  await run(join(folder, 'node_modules', '.bin', linter), options, { cwd: folder, env })
}
