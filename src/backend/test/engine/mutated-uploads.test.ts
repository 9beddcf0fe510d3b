import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { temporaryFolder } from '../../../../test/support/temporary-folder.ts'
import { isThorough } from '../../../../test/support/thorough.ts'

const program = fileURLToPath(new URL('send-mutated-uploads.ts', import.meta.url))

it('stores or rejects thousands of damaged uploads and keeps tables readable', async () => {
  const folder = await temporaryFolder()
  const rounds = isThorough ? 500 : 200
  const parameters = ['--import', 'tsx', program, folder, String(rounds)]
  const { stdout } = await promisify(execFile)(process.execPath, parameters, { maxBuffer: 64 * 1024 * 1024 })
  expect(JSON.parse(stdout)).toEqual([])
}, 300_000)
