import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { afterAll, expect, it } from 'vitest'
import { projectFolder } from './built-program.ts'
import { startDev } from './running-dev.ts'

const dev = await startDev()
afterAll(() => dev.remove())

it('the commands that dev prints work as they are', async () => {
  await dev.program.announced(/^(Press Ctrl-C to stop)/m)
  const pasted = dev.program
    .output()
    .split('\n')
    .filter((line) => line.startsWith('  '))
    .join('\n')
  const commands = pasted.match(/^ {2}\w.*$/gm) ?? []
  expect(commands).toHaveLength(7)
  const { stdout } = await promisify(execFile)('bash', ['-e', '-c', pasted], {
    cwd: projectFolder,
    maxBuffer: 16 * 1024 * 1024,
  })
  expect(stdout).toContain('{"namespaces":["sales"]}')
  expect(stdout).toMatch(/"code":16/)
  expect(stdout).toContain('{"status":"ready"}')
  expect(stdout).toContain('catalog_gateway_requests_total{')
  expect(stdout).toMatch(/^good: /m)
}, 90_000)
