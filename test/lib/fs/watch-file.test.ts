import { chmod, mkdir, rename, rm, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, onTestFinished, it } from 'vitest'
import { watchFile, watchSource } from '../../../src/lib/fs/watch-file.ts'
import { eventually, makeFolder } from '../../identity/test-authenticator.ts'

/** Watches a file, and collects its texts and errors. */
async function watch(path: string) {
  const texts: string[] = []
  const failures: unknown[] = []
  const take = (text: string): void => {
    if (text === 'bad') throw new Error('bad')
    texts.push(text)
  }
  const watched = await watchFile(path, take, { intervalMs: 5, onError: (cause) => failures.push(cause) })
  onTestFinished(() => watched.close())
  return { texts, failures, watched }
}

it('detects a file that is written or replaced by a rename', async () => {
  const path = join(await makeFolder(), 'file')
  await writeFile(path, 'one')
  const { texts } = await watch(path)
  await writeFile(path, 'two')
  await eventually(() => expect(texts).toContain('two'))
  await writeFile(`${path}.new`, 'six')
  await rename(`${path}.new`, path)
  await eventually(() => expect(texts.at(-1)).toBe('six'))
})

it('detects a swapped symbolic link above the file, as in Kubernetes', async () => {
  const folder = await makeFolder()
  for (const version of ['v1', 'v2']) {
    await mkdir(join(folder, version))
    await writeFile(join(folder, version, 'file'), version)
  }
  await symlink('v1', join(folder, '..data'))
  await symlink(join('..data', 'file'), join(folder, 'file'))
  const { texts } = await watch(join(folder, 'file'))
  await symlink('v2', join(folder, '..next'))
  await rename(join(folder, '..next'), join(folder, '..data'))
  await eventually(() => expect(texts).toEqual(['v1', 'v2']))
})

it('a missing or invalid file is reported once, and read when it is valid again', async () => {
  const path = join(await makeFolder(), 'file')
  await writeFile(path, 'one')
  const { texts, failures } = await watch(path)
  await rm(path)
  await eventually(() => expect(failures).toHaveLength(1))
  await writeFile(path, 'two')
  await eventually(() => expect(texts).toContain('two'))
  const before = failures.length
  await writeFile(`${path}.new`, 'bad')
  await rename(`${path}.new`, path)
  await eventually(() => expect(failures.length).toBeGreaterThan(before))
  await chmod(path, 0o600)
  await writeFile(`${path}.new`, 'three')
  await rename(`${path}.new`, path)
  await eventually(() => expect(texts.at(-1)).toBe('three'))
})

it('rejects if the first read fails', async () => {
  const path = join(await makeFolder(), 'file')
  await expect(watch(path)).rejects.toThrow('ENOENT')
  await writeFile(path, 'bad')
  await expect(watch(path)).rejects.toThrow('bad')
})

it('does not take a content of several files that changed while they were read', async () => {
  let version = 1
  const source = {
    stamp: () => Promise.resolve(`${version}`),
    async read() {
      const first = version
      // The first read after the first change sees one file before and one after the second change.
      if (version === 2) version = 3
      await Promise.resolve()
      return `${first} and ${version}`
    },
  }
  const contents: string[] = []
  const watched = await watchSource(source, (content) => contents.push(content), {
    intervalMs: 5,
    onError: (cause) => contents.push(String(cause)),
  })
  onTestFinished(() => watched.close())
  version = 2
  await eventually(() => expect(contents.at(-1)).toBe('3 and 3'))
  expect(contents).toEqual(['1 and 1', '3 and 3'])
})
