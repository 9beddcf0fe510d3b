import { execFile } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, inject, it } from 'vitest'
import { runningBackend } from '../../../src/backend/test/support/running-backend.ts'
import { rows } from '../../conformance/sample-rows.ts'
import { startGatewayBefore } from '../../gateway/support/running-gateway.ts'
import { pythonOf, type PythonEnvironment } from './python-environments.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

const environment: PythonEnvironment = 'schemathesis-4.32.5'
const run = promisify(execFile)

/** Whether malformed requests are refused, and all others accepted, depends on more than a schema can say. */
const checks = [
  'not_a_server_error',
  'status_code_conformance',
  'content_type_conformance',
  'response_headers_conformance',
  'response_schema_conformance',
]

/** Runs schemathesis against a gateway in front of a new bundled catalog; returns its report. */
async function runPhases(phases: string): Promise<string> {
  const gateway = await startGatewayBefore((await runningBackend()).url())
  // Some of the ids in the hooks name it.
  expect((await gateway.post('/v1/namespace/a/create', { body: {} })).status).toBe(200)
  const headers = { 'content-type': 'application/vnd.apache.arrow.stream' }
  const created = await gateway.post('/v1/table/a$t/create', { body: Buffer.from(rows(3)), headers })
  expect(created.status).toBe(200)
  const folder = await temporaryFolder()
  const rowsFile = join(folder, 'rows.arrow')
  await writeFile(rowsFile, rows(3))
  // Otherwise it would replace the key in most requests.
  const generation = '[generation]\nwith-security-parameters = false\n'
  await writeFile(join(folder, 'schemathesis.toml'), generation)
  const options = ['--phases', phases, '--checks', checks.join(',')]
  options.push('--header', `x-api-key:${gateway.key('dev')}`, '--max-examples', '5', '--max-time', '80')
  options.push('--continue-on-failure', '--no-color', '--warnings', 'off')
  const hooks = fileURLToPath(new URL('api_tester_hooks.py', import.meta.url))
  const { stdout } = await run(
    pythonOf(environment),
    ['-m', 'schemathesis.cli', 'run', `${gateway.url}/openapi.json`, ...options],
    { cwd: folder, env: { ...process.env, SCHEMATHESIS_HOOKS: hooks, ROWS: rowsFile } },
  ).catch((error: unknown) => error as { stdout: string })
  return stdout
}

const isInstalled = inject('installedClients').includes(environment)

/** Each has its own timeout: on a slow machine, the generated requests need all of theirs. */
it.skipIf(!isInstalled).each(['examples', 'coverage,fuzzing'])(
  'schemathesis finds no response of the bundled catalog that the OpenAPI document does not describe: %s',
  async (phases) => {
    const report = await runPhases(phases)
    expect(report).toContain('No issues found')
    for (const phase of phases.split(',')) expect(report).toMatch(new RegExp(`✅ +${phase}\\n`, 'i'))
    if (phases === 'examples') expect(report).toMatch(/Selected: (\d+)\/\1\s+Tested: \1\n/)
  },
)
