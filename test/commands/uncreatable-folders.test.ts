import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { runProgram } from '../e2e/built-program.ts'
import { makeFolder } from '../../src/lib/fs/write-files.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { everyInTheLongForm } from '../support/thorough.ts'

it('dev exits at once if its data folder cannot be created', async () => {
  for (const folder of everyInTheLongForm(['/proc/x', '/proc/x/y/z', '/dev/null/x'], 3)) {
    const { status, messages } = await runProgram([
      'dev',
      '--port',
      '0',
      '--admin-port',
      '0',
      '--data-dir',
      folder,
    ])
    expect(status).toBe(1)
    expect(messages).toMatch(/^the data folder cannot be used:\n {2}.*\/(proc|dev)/)
  }
})

it('backend exits at once as well', async () => {
  const file = join(await temporaryFolder(), 'catalog.yaml')
  await writeFile(file, 'listen: { port: 0 }\ndata: { folder: /proc/x }\n')
  const { status, messages } = await runProgram(['backend', '--config', file])
  expect(status).toBe(1)
  expect(messages).toContain('/proc/x')
})

it('folders are created with their parents, and the first new one is returned', async () => {
  const root = await temporaryFolder()
  expect(await makeFolder(join(root, 'a/b/c'))).toBe(join(root, 'a'))
  expect(await makeFolder(join(root, 'a/b/c'))).toBeUndefined()
  expect(await makeFolder(join(root, 'a/b/d'))).toBe(join(root, 'a/b/d'))
  await writeFile(join(root, 'file'), '')
  await expect(makeFolder(join(root, 'file'))).rejects.toThrow('EEXIST')
  await expect(makeFolder(join(root, 'file/x'))).rejects.toThrow('ENOTDIR')
  const both = await Promise.all([makeFolder(join(root, 'e/f')), makeFolder(join(root, 'e/f'))])
  expect(both).toContain(join(root, 'e'))
})
