import { z } from 'zod'
import { type SelectedRecord, type Selection, selectRecords } from '../../audit/index.ts'
import { parseIdentifierText, refusal } from '../../catalog-api/index.ts'
import { type AuditEntry, collectEntries } from './audit-entries.ts'

/** Of a search; older ones are found by an earlier end. */
const maxRecords = 200

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
  return { ...data, last: maxRecords }
}

/** Searches the whole log, as `audit query` does. */
export async function searchEntries(
  folder: string,
  selection: Selection,
): Promise<{ readonly entries: readonly AuditEntry[]; readonly isComplete: boolean }> {
  let records = 0
  async function* select(): AsyncGenerator<SelectedRecord, void> {
    for await (const selected of selectRecords(folder, selection, () => undefined)) {
      records += 1
      yield selected
    }
  }
  const entries = await collectEntries(select(), maxRecords)
  return { entries, isComplete: records < maxRecords }
}
