import { createHmac } from 'node:crypto'
import { join } from 'node:path'
import type { RedactionSettings } from '../../config/index.ts'
import { openKey } from '../../lib/index.ts'
import type { KeyChange } from '../../identity/index.ts'
import type { AuditedPrincipal, Details, IntentEntry } from './audit-record.ts'

/** Members of the details that contain SQL, and therefore row values. */
export const filterMembers = [
  'predicate',
  'filter',
  'where',
  'query',
  'source_query',
  'when_matched_update_all_filt',
  'when_not_matched_by_source_delete_filt',
] as const

/** Removes confidential data from entries before they become records. */
export type Redaction = Awaited<ReturnType<typeof openRedaction>>

/**
 * Without a key file, generates a key in the folder at the first start. Holders of the key can test guesses against
 * hashed values, so access to it must be limited. Throws if the key cannot be read or is too short.
 */
export async function openRedaction(folder: string, settings: RedactionSettings) {
  const key = await openKey(settings.keyFile, join(folder, 'redaction-key'))
  const claims = new Set(settings.recordedClaims)
  const contextKeys = new Set(settings.recordedContextKeys)
  const hidesPrincipals = settings.pseudonymize.includes('principals')
  const hidesAddresses = settings.pseudonymize.includes('addresses')
  const hashText = (domain: string, text: string): string =>
    createHmac('sha256', key).update(`${domain}\0${text}`).digest('hex').slice(0, 32)

  function redactFilters(details: Details): Details {
    const redacted: Record<string, Details[string]> = { ...details }
    for (const name of filterMembers) {
      const value = details[name]
      if (value === undefined) continue
      const text = typeof value === 'string' ? value : JSON.stringify(value)
      redacted[name] = `hmac-sha256:${hashText('filter', text)}`
    }
    return redacted
  }

  const redactName = (name: string): string => (hidesPrincipals ? `p-${hashText('principal', name)}` : name)
  const redactCredential = (id: string): string => (hidesPrincipals ? `c-${hashText('credential', id)}` : id)

  return {
    /** Context keys that are recorded; if empty, none need to be collected. */
    contextKeys: settings.recordedContextKeys,
    redactKeyChange({ change, key, principal, by, replaces, members }: KeyChange): KeyChange {
      return {
        change,
        key: redactCredential(key),
        principal: redactName(principal),
        ...(by !== undefined && { by: redactName(by) }),
        ...(replaces !== undefined && { replaces: redactCredential(replaces) }),
        ...(members !== undefined && { members }),
      }
    },
    redactPrincipal(principal: AuditedPrincipal): AuditedPrincipal {
      const { name, method, credentialId, issuer, claims: all, groups = [] } = principal
      const retained = pickMembers(all, claims)
      return {
        name: redactName(name),
        method,
        credentialId: redactCredential(credentialId),
        ...(issuer !== undefined && { issuer }),
        ...(retained !== undefined && { claims: retained }),
        ...(settings.maxRecordedGroups > 0 && limitGroups(groups, settings.maxRecordedGroups)),
      }
    },
    redactAddress: (address: string) => (hidesAddresses ? `a-${hashText('address', address)}` : address),
    redactContext: (entries: IntentEntry['context']) => pickMembers(entries, contextKeys),
    /** Returns the same object if nothing is redacted. */
    redactDetails(details: Details | undefined): Details | undefined {
      const hasFilters = details !== undefined && filterMembers.some((name) => details[name] !== undefined)
      return hasFilters ? redactFilters(details) : details
    },
  }
}

/** Whether a recorded name, credential id or address is a keyed hash of the original. */
export function isPseudonym(text: string): boolean {
  return /^[acp]-[0-9a-f]{32}$/.test(text)
}

function limitGroups(
  groups: Iterable<string>,
  max: number,
): Pick<AuditedPrincipal, 'groups' | 'groupsOmitted'> {
  const sorted = [...groups].toSorted()
  const omitted = sorted.length - max
  return { groups: sorted.slice(0, max), ...(omitted > 0 && { groupsOmitted: omitted }) }
}

function pickMembers<Value>(
  members: Readonly<Record<string, Value>> | undefined,
  allowed: ReadonlySet<string>,
): Record<string, Value> | undefined {
  if (members === undefined || allowed.size === 0) return undefined
  const retained = Object.entries(members).filter(([name]) => allowed.has(name))
  return retained.length === 0 ? undefined : Object.fromEntries(retained)
}
