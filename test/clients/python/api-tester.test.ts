import { execFile } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, inject, it } from 'vitest'
import { runningBackend } from '../../backend/support/running-backend.ts'
import { rows } from '../../conformance/sample-rows.ts'
import { temporaryFolder } from '../../e2e/built-program.ts'
import { startGatewayBefore } from '../../gateway/support/running-gateway.ts'
import { pythonOf, type PythonEnvironment } from './python-environments.ts'

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

it.skipIf(!inject('installedClients').includes(environment))(
  'schemathesis finds no response of the bundled catalog that the OpenAPI document does not describe',
  async () => {
    const gateway = await startGatewayBefore((await runningBackend()).url())
    const folder = await temporaryFolder()
    const rowsFile = join(folder, 'rows.arrow')
    await writeFile(rowsFile, rows(3))
    // Otherwise it would replace the key in most requests.
    const generation = '[generation]\nwith-security-parameters = false\n'
    await writeFile(join(folder, 'schemathesis.toml'), generation)
    const options = ['--phases', 'coverage,fuzzing,stateful', '--checks', checks.join(',')]
    options.push('--header', `x-api-key:${gateway.key('dev')}`, '--max-examples', '5', '--max-time', '120')
    options.push('--continue-on-failure', '--no-color', '--warnings', 'off')
    const hooks = fileURLToPath(new URL('api_tester_hooks.py', import.meta.url))
    const { stdout } = await run(
      pythonOf(environment),
      ['-m', 'schemathesis.cli', 'run', `${gateway.url}/openapi.json`, ...options],
      { cwd: folder, env: { ...process.env, SCHEMATHESIS_HOOKS: hooks, ROWS: rowsFile } },
    ).catch((error: unknown) => error as { stdout: string })
    expect(stdout).toContain('No issues found')
  },
)
