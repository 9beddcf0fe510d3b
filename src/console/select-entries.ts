import { z } from 'zod'
import {
  listSegments,
  readNewestRecords,
  type SelectedRecord,
  type Selection,
  selectRecords,
} from '../audit/index.ts'
import { parseIdentifierText, refusal } from '../catalog-api/index.ts'
import { collectEntries } from './audit-entries.ts'
import type { Seal } from './console-state.ts'

const maxNewest = 50
const maxBytes = 1024 * 1024

/**
 * Creates a reader of the newest changes and refusals in the last MiB of the log, whose newest file `getFile` returns. It
 * rejects if a file cannot be read. Records are not verified: that is the task of `audit verify`.
 */
export function createNewestEntriesReader(folder: string, getFile: () => string) {
  let segments: Awaited<ReturnType<typeof listSegments>> = []
  return async () => {
    // Listing opens every file of the log.
    if (segments.at(-1)?.file !== getFile()) segments = await listSegments(folder)
    let seal: Seal | undefined
    async function* select(): AsyncGenerator<SelectedRecord, void> {
      for await (const record of readNewestRecords(folder, segments, maxBytes)) {
        if (record.kind === 'seal') seal = record
        const isRead = record.kind === 'intent' && record.effect === 'read'
        if (!isRead) yield { record }
      }
    }
    return { entries: await collectEntries(select(), maxNewest), seal }
  }
}

/** Of a search; older ones are found by an earlier end. */
const maxFound = 200

const text = z.string().min(1).max(4096).optional()

const searchSchema = z.strictObject({
  object: text.transform((id) => (id === undefined ? undefined : parseIdentifierText(id))),
  principal: text,
  operation: text,
  rule: text,
  request: text,
  kinds: z
    .string()
    .transform((names) => names.split(','))
    .pipe(z.array(z.enum(['change', 'read', 'refusal'])))
    .optional(),
  since: z.coerce.date().optional(),
  until: z.coerce.date().optional(),
})

/** Parses the parameters of a search, with the meaning of those of `audit query`. Throws CatalogError. */
export function parseSearch(parameters: unknown): Selection {
  const { data } = searchSchema.safeParse(parameters)
  if (data === undefined)
    throw refusal('invalid_request', 'expected the fields of the search, and valid times')
  return { ...data, last: maxFound }
}

/** Searches the whole log, as `audit query` does. */
export async function searchEntries(folder: string, selection: Selection) {
  let records = 0
  async function* select(): AsyncGenerator<SelectedRecord, void> {
    for await (const selected of selectRecords(folder, selection, () => undefined)) {
      records += 1
      yield selected
    }
  }
  const entries = await collectEntries(select(), maxFound)
  return { entries, isComplete: records < maxFound }
}
