import { localFileStorage } from '../../storage/local-storage.ts'
import type { Storage } from '../../storage/storage.ts'
import {
  inspectStaging,
  publishRetainedManifest,
  retainManifest,
  type RetainedManifest,
  type StagedManifest,
  type StagingRequest,
} from './commits.ts'
import { findTransaction } from './find-transaction.ts'
import { describeVersion, listManifestFiles, listVersions, versionsFolder } from './manifest-files.ts'

/** The versions of a table as manifests in storage: the external manifest store. */
export function openManifestStore(storage: Storage = localFileStorage) {
  return {
    list: (location: string, branch: string | undefined, limit?: number) =>
      listVersions(storage, location, branch, limit),
    describe: (location: string, version: number | undefined, branch: string | undefined) =>
      describeVersion(storage, location, version, branch),
    inspectStaging: (location: string, request: StagingRequest) => inspectStaging(storage, location, request),
    retain: (staged: StagedManifest, retainedPath: string) => retainManifest(storage, staged, retainedPath),
    publishRetained: (location: string, retained: RetainedManifest) =>
      publishRetainedManifest(storage, location, retained),
    /** Deletes the manifest of a version; a missing one is no error. */
    remove: async (location: string, version: number, branch: string | undefined): Promise<void> => {
      const folder = versionsFolder(location, branch)
      if ((await describeVersion(storage, location, version, branch)) === undefined) return
      await storage.assertNoLinks(location, folder)
      for (const file of listManifestFiles(location, version, branch)) await storage.remove(file)
      await storage.flush(folder)
    },
    /** Throws InvalidInput unless the dataset and its path from `root` exist and consist of folders and files only. */
    assertConfined: (root: string, location: string) => storage.assertConfined(root, location),
    findTransaction: (location: string, branches: readonly string[], transaction: string) =>
      findTransaction(storage, location, branches, transaction),
  }
}

export type ManifestStore = ReturnType<typeof openManifestStore>
