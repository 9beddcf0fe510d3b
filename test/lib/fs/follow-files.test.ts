import { chmod, mkdir, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, onTestFinished, it } from 'vitest'
import { fileStamp, followFiles, type FollowOptions, reloadFiles } from '../../../src/lib/fs/follow-files.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { eventually } from '../../support/eventually.ts'

/** Follows values until the end of the test, and collects their changes and errors. */
async function follow(options: Pick<FollowOptions<string>, 'stamp' | 'read'>, intervalMs = 5) {
  const changes: string[] = []
  const failures: string[] = []
  const followed = await followFiles({
    ...options,
    intervalMs,
    onChange: (value) => void changes.push(value),
    onError: (cause) => void failures.push(String(cause)),
  })
  onTestFinished(() => followed.close())
  return { followed, changes, failures }
}

/** Follows the text of a file; `bad` cannot be read. */
function followText(path: string, intervalMs?: number) {
  const read = async (): Promise<string> => {
    const text = await readFile(path, 'utf8')
    if (text === 'bad') throw new Error('a bad text')
    return text
  }
  return follow({ stamp: () => fileStamp(path), read }, intervalMs)
}

async function replace(path: string, text: string): Promise<void> {
  await writeFile(`${path}.new`, text)
  await rename(`${path}.new`, path)
}

it('detects a file that is written or replaced by a rename', async () => {
  const path = join(await temporaryFolder(), 'file')
  await writeFile(path, 'one')
  const { followed, changes } = await followText(path)
  expect(followed.current).toBe('one')
  // Not of the same length: file systems that count time in milliseconds would show no change.
  await writeFile(path, 'second')
  await eventually(() => expect(changes).toContain('second'))
  await replace(path, 'third')
  await eventually(() => expect(changes.at(-1)).toBe('third'))
  expect(followed.current).toBe('third')
})

it('detects a swapped symbolic link above the file, as in Kubernetes', async () => {
  const folder = await temporaryFolder()
  for (const version of ['v1', 'v2']) {
    await mkdir(join(folder, version))
    await writeFile(join(folder, version, 'file'), version)
  }
  await symlink('v1', join(folder, '..data'))
  await symlink(join('..data', 'file'), join(folder, 'file'))
  const { changes } = await followText(join(folder, 'file'))
  await symlink('v2', join(folder, '..next'))
  await rename(join(folder, '..next'), join(folder, '..data'))
  await eventually(() => expect(changes).toEqual(['v2']))
})

it('a missing or invalid file is reported once, keeps the last value, and is read when it is valid again', async () => {
  const path = join(await temporaryFolder(), 'file')
  await writeFile(path, 'one')
  const { followed, changes, failures } = await followText(path)
  await rm(path)
  await eventually(() => expect(failures).toHaveLength(1))
  expect(failures[0]).toContain('ENOENT')
  expect(followed.current).toBe('one')
  await writeFile(path, 'two')
  await eventually(() => expect(changes).toContain('two'))
  await replace(path, 'bad')
  await eventually(() => expect(failures.at(-1)).toContain('a bad text'))
  expect(followed.current).toBe('two')
  await chmod(path, 0o600)
  await replace(path, 'three')
  await eventually(() => expect(changes.at(-1)).toBe('three'))
})

it('rejects if the first read fails', async () => {
  const path = join(await temporaryFolder(), 'file')
  await expect(followText(path)).rejects.toThrow('ENOENT')
  await writeFile(path, 'bad')
  await expect(followText(path)).rejects.toThrow('a bad text')
})

it('does not use the content of several files that changed while they were read', async () => {
  let version = 1
  const { changes } = await follow({
    stamp: () => Promise.resolve(`${version}`),
    async read() {
      const first = version
      // The first read after the first change sees one file before and one after the second change.
      if (version === 2) version = 3
      await Promise.resolve()
      return `${first} and ${version}`
    },
  })
  version = 2
  await eventually(() => expect(changes.at(-1)).toBe('3 and 3'))
  expect(changes).toEqual(['3 and 3'])
})

it('detects a change during the first read', async () => {
  let version = 1
  const { changes } = await follow({
    stamp: () => Promise.resolve(`${version}`),
    async read() {
      if (version === 2) return 'after'
      version = 2
      return 'before'
    },
  })
  await eventually(() => expect(changes[0]).toBe('after'))
})

it('a system error is retried though the files do not change, and reported once', async () => {
  let remaining = 20
  let stamp = 'one'
  const { changes, failures } = await follow({
    stamp: () => Promise.resolve(stamp),
    read: () =>
      stamp === 'two' && remaining-- > 0
        ? Promise.reject(Object.assign(new Error('EMFILE: too many open files'), { syscall: 'open' }))
        : Promise.resolve(stamp),
  })
  stamp = 'two'
  await eventually(() => expect(changes).toEqual(['two']))
  expect(failures).toEqual(['Error: EMFILE: too many open files'])
})

it('refresh reads a changed file without waiting for the next poll, and reports nothing for an unchanged one', async () => {
  const path = join(await temporaryFolder(), 'file')
  await writeFile(path, 'one')
  const { followed, changes } = await followText(path, 3_600_000)
  await writeFile(path, 'second')
  expect(followed.current).toBe('one')
  await Promise.all([followed.refresh(), followed.refresh()])
  expect(followed.current).toBe('second')
  expect(changes).toEqual(['second'])
})

it('reloadFiles reads an unchanged file again, and reports it', async () => {
  const path = join(await temporaryFolder(), 'file')
  await writeFile(path, 'one')
  const { changes } = await followText(path, 3_600_000)
  await reloadFiles()
  expect(changes).toEqual(['one'])
})
