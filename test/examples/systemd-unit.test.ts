import { execFile } from 'node:child_process'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { projectFolder } from '../e2e/built-program.ts'
import { hasErrorCode } from '../../src/lib/errors.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const examples = join(projectFolder, 'examples/systemd')
const unitName = 'catalog-gateway@.service'

/** Runs a program; skips the test if it is not installed. */
function run(
  program: string,
  parameters: readonly string[],
  skip: (condition: boolean, why: string) => void,
) {
  return promisify(execFile)(program, parameters).catch((error: unknown) => {
    skip(hasErrorCode(error, 'ENOENT'), `${program} is not installed`)
    throw error
  })
}

it('systemd accepts the unit, and finds that it exposes little', async ({ skip }) => {
  const unit = await readFile(join(examples, unitName), 'utf8')
  const path = join(await temporaryFolder(), unitName.replace('@', '@2341'))
  // Not installed here.
  await writeFile(path, unit.replaceAll('/usr/local/bin/catalog-gateway', '/bin/true'))
  const { stderr } = await run('systemd-analyze', ['verify', path], skip)
  expect(stderr).toBe('')
  // Out of 10; fails above.
  await run('systemd-analyze', ['security', '--offline=yes', '--threshold=20', path], skip)
})

it('HAProxy accepts the balancer, whose servers are instances of the unit', async ({ skip }) => {
  const [unit, file] = [join(examples, unitName), join(examples, 'haproxy.cfg')]
  await run('haproxy', ['-c', '-f', file], skip)
  const servers = [...(await readFile(file, 'utf8')).matchAll(/^ +server \S+ 127.0.0.1:(\d+) port (\d+)$/gm)]
  expect(servers).not.toEqual([])
  for (const [, port, adminPort] of servers) expect(adminPort).toBe(`1${port}`)
  expect(await readFile(unit, 'utf8')).toContain('LISTEN__PORT=%i CATALOG_GATEWAY__ADMIN__PORT=1%i\n')
})
