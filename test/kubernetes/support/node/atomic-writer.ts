import {
  chmod,
  chown,
  lstat,
  mkdir,
  readdir,
  readlink,
  rename,
  rm,
  symlink,
  writeFile,
} from 'node:fs/promises'
import { dirname, join } from 'node:path'

/** Contents of files by their path in a volume. */
export type VolumeFiles = ReadonlyMap<string, Buffer>

interface Ownership {
  readonly mode: number
  /** The `fsGroup` of the pod. */
  readonly group: number | undefined
}

let versions = 0

/**
 * Replaces the files of a volume as the kubelet does: all of them at once, by renaming the link `..data` to a folder
 * with the new version. Each file is a link to one in `..data`.
 */
export async function writeVolume(folder: string, files: VolumeFiles, ownership: Ownership): Promise<void> {
  versions += 1
  const version = `..${Date.now()}.${versions}`
  await mkdir(join(folder, version), { recursive: true })
  for (const [path, content] of files) await writeOne(join(folder, version, path), content, ownership)
  const data = join(folder, '..data')
  const before = await readlink(data).catch(() => undefined)
  await symlink(version, `${data}_tmp`)
  await rename(`${data}_tmp`, data)
  const names = new Set([...files.keys()].map((path) => path.split('/')[0] ?? path))
  for (const name of names) {
    if (!(await exists(join(folder, name)))) await symlink(join('..data', name), join(folder, name))
  }
  for (const name of await readdir(folder)) {
    if (!name.startsWith('..') && !names.has(name)) await rm(join(folder, name))
  }
  if (before !== undefined) await rm(join(folder, before), { recursive: true })
}

async function writeOne(file: string, content: Buffer, { mode, group }: Ownership): Promise<void> {
  await mkdir(dirname(file), { recursive: true })
  await writeFile(file, content)
  await chmod(file, group === undefined ? mode : mode | 0o440)
  if (group !== undefined) await chown(file, 0, group)
}

function exists(file: string): Promise<boolean> {
  return lstat(file).then(
    () => true,
    () => false,
  )
}
