import { type AuditRecord, readRecordedCall } from '../../audit/index.ts'
import { formatIdentifierForMessage, formatIdentifierText } from '../../catalog-api/index.ts'
import { quoteForShell } from '../../lib/index.ts'

/** The command that explains a denial. Undefined for other refusals, if it is about another object, or if the caller is a pseudonym. */
export function createExplainCommand(record: AuditRecord<'refusal'>): string | undefined {
  const { id, caller, clientAddress } = readRecordedCall(record) ?? {}
  const needs = record.details?.['needs']
  if (id === undefined || caller === undefined || typeof needs !== 'string') return undefined
  if (!needs.endsWith(` on ${formatIdentifierForMessage(id)}`)) return undefined
  const [permission = ''] = /^\w+/.exec(needs) ?? []
  if (!caller.isAnonymous && caller.user === undefined) return undefined
  return [
    'catalog-gateway policy explain --policies policies',
    ...(caller.user === undefined || caller.isAnonymous
      ? ['--anonymous']
      : [formatOption('as', caller.user)]),
    ...[...caller.groups].map((group) => formatOption('group', group)),
    ...(caller.key ? [formatOption('key', caller.key)] : []),
    ...(clientAddress === undefined ? [] : [formatOption('fact', `address=${clientAddress}`)]),
    '--',
    permission,
    quoteForShell(formatIdentifierText(id)),
  ].join(' ')
}

/** In one word, so that a value that begins with a dash is not read as an option. */
function formatOption(name: string, value: string): string {
  return `--${name}=${quoteForShell(value)}`
}
