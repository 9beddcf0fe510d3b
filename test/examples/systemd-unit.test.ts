import { execFile } from 'node:child_process'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { projectFolder } from '../e2e/built-program.ts'
import { hasErrorCode } from '../../src/lib/fs/system-error.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const run = promisify(execFile)

it('systemd accepts the unit, and finds that it exposes little', async ({ skip }) => {
  const unit = await readFile(join(projectFolder, 'examples/systemd/catalog-gateway.service'), 'utf8')
  const path = join(await temporaryFolder(), 'catalog-gateway.service')
  // Not installed here.
  await writeFile(path, unit.replaceAll('/usr/local/bin/catalog-gateway', '/bin/true'))
  const { stderr } = await run('systemd-analyze', ['verify', path]).catch((error: unknown) => {
    skip(hasErrorCode(error, 'ENOENT'), 'systemd-analyze is not installed')
    throw error
  })
  expect(stderr).toBe('')
  // Out of 10; fails above.
  await run('systemd-analyze', ['security', '--offline=yes', '--threshold=20', path])
})
