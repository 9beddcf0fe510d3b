import { opendir } from 'node:fs/promises'
import { invalidInput } from '../../interface/errors.ts'
import { hasErrorCode } from './stored-version.ts'
import { refuseLinks } from './versions-folder.ts'

/** See ManifestStore.confine. */
export async function confine(root: string, location: string): Promise<void> {
  try {
    await refuseLinks(root, location)
    for await (const entry of await opendir(location, { recursive: true })) {
      if (!entry.isFile() && !entry.isDirectory()) {
        throw invalidInput('the dataset holds something that is neither a file nor a folder')
      }
    }
  } catch (error) {
    if (hasErrorCode(error, 'ENOENT') || hasErrorCode(error, 'ENOTDIR')) {
      throw invalidInput('there is no such folder', { cause: error })
    }
    throw error
  }
}
