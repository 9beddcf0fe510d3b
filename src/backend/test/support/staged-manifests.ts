import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { S3Client } from '@aws-sdk/client-s3'
import { openCommitter } from '../../../../test/conformance/staged-versions.ts'
import { openTableFiles } from '../../../../test/conformance/table-files.ts'
import { temporaryFolder } from '../../../../test/support/temporary-folder.ts'

/** A client of the table at that location, in an object store if there is a client of it. */
export async function committer(location: string, objectStore?: S3Client) {
  return await openCommitter(await openTableFiles(location, objectStore), await temporaryFolder())
}

/** Lists the catalog's retained manifests and the remaining staging manifests of clients. */
export async function leftBehind(dataFolder: string, locations: readonly string[]): Promise<string[]> {
  const staged = await Promise.all(locations.map((location) => readdir(join(location, '_versions'))))
  const retained = await readdir(join(dataFolder, 'commits'))
  return [...retained, ...staged.flat().filter((name) => name.includes('.manifest-'))]
}
