import { copyFile, cp, mkdir, readFile, stat, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { GetObjectCommand, ListObjectsV2Command, PutObjectCommand, type S3Client } from '@aws-sdk/client-s3'
import { NotTestable } from './catalog-client.ts'

/** The files of a table, to which a run adds some, as clients do before a commit. Names are relative to the table. */
export interface TableFiles {
  /** Copies all files into a new folder. */
  readonly copyTo: (folder: string) => Promise<void>
  readonly add: (file: string, name: string) => Promise<void>
  /** Returns the path of a file as the interface writes it: without a scheme, and without the name of a bucket. */
  readonly pathOf: (name: string) => string
}

/**
 * Opens the files of the table at this location: in a folder of this machine, or in the given object store. Throws
 * NotTestable for any other location.
 */
export async function openTableFiles(
  location: string,
  objectStore: S3Client | undefined,
): Promise<TableFiles> {
  const [, bucket, key] = /^s3:\/\/([^/]+)\/(.+)$/.exec(location) ?? []
  if (bucket !== undefined && key !== undefined && objectStore !== undefined)
    return openObjects(objectStore, bucket, key)
  const folder = location.startsWith('file:') ? fileURLToPath(location) : location
  if (folder.startsWith('/') && (await stat(folder).catch(() => undefined))?.isDirectory())
    return openFolder(folder)
  throw new NotTestable('the tables of this catalog lie neither on this machine nor in a given object store')
}

function openFolder(folder: string): TableFiles {
  return {
    copyTo: (target) => cp(folder, target, { recursive: true }),
    add: (file, name) => copyFile(file, join(folder, name)),
    pathOf: (name) => join(folder, name).slice(1),
  }
}

function openObjects(client: S3Client, Bucket: string, table: string): TableFiles {
  return {
    async copyTo(target) {
      const { Contents = [] } = await client.send(new ListObjectsV2Command({ Bucket, Prefix: `${table}/` }))
      for (const { Key = '' } of Contents) {
        const file = join(target, Key.slice(table.length))
        const { Body } = await client.send(new GetObjectCommand({ Bucket, Key }))
        await mkdir(dirname(file), { recursive: true })
        await writeFile(file, (await Body?.transformToByteArray()) ?? '')
      }
    },
    async add(file, name) {
      const Body = await readFile(file)
      await client.send(new PutObjectCommand({ Bucket, Key: `${table}/${name}`, Body }))
    },
    pathOf: (name) => `${table}/${name}`,
  }
}
