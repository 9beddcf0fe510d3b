import { execFile } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, onTestFinished, it } from 'vitest'
import { isThorough } from '../../../../test/support/thorough.ts'

const program = fileURLToPath(new URL('send-mutated-uploads.ts', import.meta.url))

it('stores or rejects thousands of damaged uploads and keeps tables readable', async () => {
  const folder = await mkdtemp(path.join(tmpdir(), 'mutated uploads '))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  const rounds = isThorough ? 500 : 200
  const parameters = ['--import', 'tsx', program, folder, String(rounds)]
  const { stdout } = await promisify(execFile)(process.execPath, parameters, { maxBuffer: 64 * 1024 * 1024 })
  expect(JSON.parse(stdout)).toEqual([])
}, 300_000)
