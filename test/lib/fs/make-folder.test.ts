import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { makeFolder } from '../../../src/lib/fs/write-files.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

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

it.each(['/proc/x', '/proc/x/y/z', '/dev/null/x'])(
  '%s cannot be created, which is said at once',
  async (path) => {
    await expect(makeFolder(path)).rejects.toThrow(/\/(proc|dev)/)
  },
)
