import { execFile } from 'node:child_process'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { cachedClient, fillCache } from '../clients-cache.ts'

const run = promisify(execFile)
const packages = ['@redocly/cli@2.77.0', '@stoplight/spectral-cli@6.16.3']
const name = 'openapi-linters-redocly-2.77.0-spectral-6.16.3'
const installMs = 240_000

/** Installs the linters unless they are in the cache. Rejects if that is not possible. */
export async function installLinters(): Promise<void> {
  await fillCache(name, async (folder) => {
    await mkdir(folder)
    await writeFile(join(folder, 'package.json'), '{}')
    await writeFile(join(folder, 'spectral.yaml'), 'extends: ["spectral:oas"]')
    const options = ['--no-audit', '--no-fund', '--ignore-scripts', '--silent']
    await run('npm', ['install', ...options, ...packages], { cwd: folder, timeout: installMs })
  })
}

/** Runs a linter on a document with its recommended rules. Rejects if it finds anything. */
export async function lint(linter: 'redocly' | 'spectral', document: string): Promise<void> {
  const options =
    linter === 'redocly'
      ? ['lint', '--extends', 'recommended-strict', document]
      : ['lint', '--fail-severity', 'hint', '--ruleset', 'spectral.yaml', document]
  const folder = cachedClient(name)
  const env = { ...process.env, REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' }
  await run(join(folder, 'node_modules', '.bin', linter), options, { cwd: folder, env })
}
