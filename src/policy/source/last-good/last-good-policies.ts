import { readdir, readFile, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { LastGoodSettings } from '../../../config/policy-settings.ts'
import { runInSlices } from '../../../lib/async/run-in-slices.ts'
import { makeFolder } from '../../../lib/fs/make-folder.ts'
import { syncFolder } from '../../../lib/fs/sync-folder.ts'
import { hasErrorCode, ignoreMissing } from '../../../lib/fs/system-error.ts'
import { writeAtomically } from '../../../lib/fs/write-atomically.ts'
import { revisionSteps } from '../../engine/policy-revision.ts'
import type { PolicyDocument } from '../../language/policy-document.ts'
import { PolicyError } from '../../language/policy-error.ts'
import type { PolicyVocabulary } from '../../language/policy-vocabulary.ts'
import { isEnforced, mergeFiles } from '../compile-documents.ts'
import { parsePolicyFile } from '../parse-policy-file.ts'
import type { PolicyText } from '../policy-location.ts'
import { createDenyAllPolicy } from './deny-all-policy.ts'
import { formatStoredPolicies, parseStoredPolicies, type StoredPolicies } from './stored-policies.ts'

const fileName = 'last-good-policies'
const maxBytes = 64 * 1024 * 1024

/** How often the time is written until which the stored policies may be used, as a part of the maximum age. */
const confirmationRatio = 1 / 24

/** Times are ISO 8601. */
export interface LastGoodUse {
  readonly revision: string
  readonly inForceSince: string
  readonly usableUntil: string
}

/** The callbacks must not throw. */
export interface LastGoodOptions extends LastGoodSettings {
  readonly key: Uint8Array
  readonly vocabulary: PolicyVocabulary
  /** Revision of the policy files that the audit log proves to have been in force last, if it proves any. */
  readonly recordedRevision: string | undefined
  /** Records durably that policy files of this revision come into force; with `use` if they are the stored ones. */
  readonly record: (revision: string, use?: LastGoodUse) => Promise<void>
  /** Stored policies are used instead of the present ones, which have these errors. */
  readonly onUse: (use: LastGoodUse, error: PolicyError) => void
  /** The stored policies may not be used any longer: everything is denied. */
  readonly onExpiry: (use: LastGoodUse) => void
  /** The present policies are in force again instead of the stored ones. */
  readonly onRecovery: () => void
  /** The policies in force cannot be stored; reported once for each message. */
  readonly onStoreError: (error: unknown) => void
}

/** Keeps the policy files in force for a start at which the present ones do not compile. */
export interface LastGoodPolicies {
  /**
   * Returns the stored policies to use instead of files that were read but do not compile. Throws PolicyError, with the
   * errors of the present files and the reason, unless they are authentic, were last in force, compile to the same
   * revision and have not expired.
   */
  restore(error: PolicyError): Promise<readonly PolicyDocument[]>
  /** Replaces restored policies that have expired by one that denies everything. */
  expire(load: (documents: readonly PolicyDocument[]) => Promise<void>): Promise<void>
  /** Stores the files, whose documents came into force. Ends the use of restored policies. */
  retain(files: readonly PolicyText[], documents: readonly PolicyDocument[]): void
  /** The present files are still those that were retained. */
  confirm(): void
  /** Resolves when nothing is being written any more. */
  close(): Promise<void>
}

interface Retained extends Pick<StoredPolicies, 'revision' | 'inForceSince' | 'files'> {
  isRecorded: boolean
}

export function createLastGoodPolicies(options: LastGoodOptions): LastGoodPolicies {
  const { folder, key, vocabulary, maxAgeHours, recordedRevision } = options
  const path = join(folder, fileName)
  const maxAgeMs = maxAgeHours * 3_600_000
  let use: LastGoodUse | undefined
  let isExpired = false
  let retained: Retained | undefined
  let confirmedAt = -Infinity
  let lastStoreError: string | undefined
  let isClosed = false

  async function read(): Promise<StoredPolicies | undefined> {
    const status = await stat(path)
    return status.size > maxBytes ? undefined : parseStoredPolicies(await readFile(path, 'utf8'), key)
  }

  async function store(): Promise<void> {
    if (retained === undefined) return
    const { revision, inForceSince, files } = retained
    // Recorded first: stored policies are never newer than the record, and older ones are refused.
    if (!retained.isRecorded) await options.record(revision)
    retained.isRecorded = true
    const now = Date.now()
    const text = formatStoredPolicies(
      {
        revision,
        inForceSince,
        confirmedAt: new Date(now).toISOString(),
        usableUntil: new Date(now + maxAgeMs).toISOString(),
        files,
      },
      key,
    )
    const size = Buffer.byteLength(text)
    if (size > maxBytes) throw new Error(`the policies have ${size} bytes; expected at most ${maxBytes}`)
    await makeFolder(folder, 0o750)
    await removeUnfinished(folder)
    await writeAtomically(path, text)
    await syncFolder(folder)
    confirmedAt = now
  }

  async function prepare(
    files: readonly PolicyText[],
    documents: readonly PolicyDocument[],
  ): Promise<Retained> {
    const revision = await computeRevision(documents)
    const before = retained ?? (await read().catch(() => undefined))
    const isSame = before?.revision === revision
    return {
      revision,
      inForceSince: isSame ? before.inForceSince : new Date().toISOString(),
      files: files.map(({ name, bytes }) => [name, Buffer.from(bytes).toString('utf8')] as const),
      isRecorded: isSame && retained?.isRecorded === true,
    }
  }

  let lastWork = Promise.resolve()
  let pending = 0
  function enqueue(work: () => Promise<void>): void {
    pending += 1
    lastWork = lastWork
      .then(work)
      .then(
        () => (lastStoreError = undefined),
        (error: unknown) => {
          // Written again at the next confirmation.
          confirmedAt = -Infinity
          if (String(error) !== lastStoreError) options.onStoreError(error)
          lastStoreError = String(error)
        },
      )
      .then(() => void (pending -= 1))
  }

  function refuse(error: PolicyError, reason: string): PolicyError {
    const message = `the last good policies cannot be used instead: ${reason}`
    return new PolicyError([...error.problems, { file: fileName, message }])
  }

  async function readStored(error: PolicyError): Promise<StoredPolicies | undefined> {
    try {
      return await read()
    } catch (cause) {
      throw refuse(error, hasErrorCode(cause, 'ENOENT') ? 'none are stored' : 'they cannot be read')
    }
  }

  return {
    async restore(error) {
      const stored = await readStored(error)
      if (stored === undefined)
        throw refuse(error, 'they are not authentic: they were changed, or stored with another key')
      const { revision, inForceSince } = stored
      if (recordedRevision === undefined)
        throw refuse(error, 'the audit log does not prove which policies were last in force')
      if (recordedRevision !== revision)
        throw refuse(error, `they are revision ${revision}; last in force was ${recordedRevision}`)
      const expiry = Math.min(Date.parse(stored.usableUntil), Date.parse(stored.confirmedAt) + maxAgeMs)
      const usableUntil = new Date(expiry).toISOString()
      if (Date.now() >= expiry) throw refuse(error, `they could be used until ${usableUntil}`)
      const documents = parseFiles(stored, vocabulary)
      if (documents === undefined || (await computeRevision(documents)) !== revision)
        throw refuse(error, 'the present settings give them another meaning')
      const restored = { revision, inForceSince, usableUntil }
      await options.record(revision, restored)
      use = restored
      options.onUse(restored, error)
      return documents
    },
    async expire(load) {
      if (use === undefined || isExpired || Date.now() < Date.parse(use.usableUntil)) return
      await load([createDenyAllPolicy('last-good-policies-expired', vocabulary)])
      isExpired = true
      options.onExpiry(use)
    },
    retain(files, documents) {
      if (use !== undefined) options.onRecovery()
      use = undefined
      enqueue(async () => {
        retained = await prepare(files, documents)
        await store()
      })
    },
    confirm() {
      const isDue = Date.now() - confirmedAt >= maxAgeMs * confirmationRatio
      if (isDue && pending === 0 && use === undefined && !isClosed) enqueue(store)
    },
    async close() {
      isClosed = true
      await lastWork
    },
  }
}

async function computeRevision(documents: readonly PolicyDocument[]): Promise<string> {
  return runInSlices(revisionSteps(documents.filter(isEnforced)))
}

/** Returns undefined if the files do not compile. */
function parseFiles(
  { files }: StoredPolicies,
  vocabulary: PolicyVocabulary,
): readonly PolicyDocument[] | undefined {
  try {
    return mergeFiles(
      files.map(([name, text]) => parsePolicyFile({ name, bytes: Buffer.from(text) }, vocabulary)),
    )
  } catch (error) {
    if (error instanceof PolicyError) return undefined
    throw error
  }
}

/** Removes what a crash left of an earlier write. */
async function removeUnfinished(folder: string): Promise<void> {
  for (const name of await readdir(folder)) {
    if (name.startsWith(`${fileName}.`)) await rm(join(folder, name)).catch(ignoreMissing)
  }
}
