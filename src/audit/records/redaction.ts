import { createHmac, randomBytes, type BinaryLike } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { RedactionSettings } from '../../config/audit/redaction-settings.ts'
import { writeAtomically } from '../../lib/fs/write-atomically.ts'
import type { AuditedPrincipal, Details, IntentEntry } from './audit-record.ts'
import { ignoreMissing } from '../../lib/fs/system-error.ts'

/** Takes out of entries what the log must not hold, before they become records. */
export interface Redaction {
  /** The context keys to give with an entry: where there are none, none need be collected. */
  readonly contextKeys: readonly string[]
  redactPrincipal(principal: AuditedPrincipal): AuditedPrincipal
  redactAddress(address: string): string
  redactContext(entries: IntentEntry['context']): IntentEntry['context']
  /** The same object where nothing is to be taken out. */
  redactDetails(details: Details | undefined): Details | undefined
}

/** The members of the details that hold SQL, and with it values of rows. */
export const filterMembers = [
  'predicate',
  'filter',
  'when_matched_update_all_filt',
  'when_not_matched_by_source_delete_filt',
] as const

const generatedKeyFile = 'redaction-key'
const minKeyBytes = 32
/** A SQL text that is recorded as it was sent is cut behind so many characters. */
const maxTextLength = 1024

/** Where the key lies that was made in the folder of a log. */
export function getGeneratedRedactionKeyFile(folder: string): string {
  return join(folder, generatedKeyFile)
}

/**
 * Opens the redaction of the log in that folder. Without a key file a key lies in the folder, where it is made at
 * the first start: whoever has it can try out what was hashed, so it belongs to those who may know. Throws when the
 * key cannot be read, or is too short.
 */
export async function openRedaction(folder: string, settings: RedactionSettings): Promise<Redaction> {
  return createRedaction(settings, await readOrCreateKey(folder, settings.keyFile))
}

/** A redaction with that key. A hash is keyed, since what people search for can be guessed. */
function createRedaction(settings: RedactionSettings, key: BinaryLike): Redaction {
  const claims = new Set(settings.recordedClaims)
  const contextKeys = new Set(settings.recordedContextKeys)
  const hidesPrincipals = settings.pseudonymize.includes('principals')
  const hidesAddresses = settings.pseudonymize.includes('addresses')
  const hashOf = (what: string, text: string): string =>
    createHmac('sha256', key).update(`${what}\0${text}`).digest('hex').slice(0, 32)

  function withoutFilters(details: Details): Details {
    const redacted: Record<string, Details[string]> = { ...details }
    for (const name of filterMembers) {
      const value = details[name]
      if (value === undefined) continue
      const text = typeof value === 'string' ? value : JSON.stringify(value)
      delete redacted[name]
      if (settings.filters === 'hash') redacted[name] = `hmac-sha256:${hashOf('filter', text)}`
      if (settings.filters === 'plain') redacted[name] = text.slice(0, maxTextLength)
    }
    return redacted
  }

  return {
    contextKeys: settings.recordedContextKeys,
    redactPrincipal({ name, method, credentialId, issuer, claims: all }) {
      const retained = pickMembers(all, claims)
      return {
        name: hidesPrincipals ? `p-${hashOf('principal', name)}` : name,
        method,
        credentialId: hidesPrincipals ? `c-${hashOf('credential', credentialId)}` : credentialId,
        ...(issuer !== undefined && { issuer }),
        ...(retained !== undefined && { claims: retained }),
      }
    },
    redactAddress: hidesAddresses ? (address) => `a-${hashOf('address', address)}` : (address) => address,
    redactContext: (entries) => pickMembers(entries, contextKeys),
    redactDetails(details) {
      const hasFilters = details !== undefined && filterMembers.some((name) => details[name] !== undefined)
      return hasFilters ? withoutFilters(details) : details
    },
  }
}

/** Those members that are allowed; undefined where there are none. */
function pickMembers<Value>(
  members: Readonly<Record<string, Value>> | undefined,
  allowed: ReadonlySet<string>,
): Record<string, Value> | undefined {
  if (members === undefined || allowed.size === 0) return undefined
  const retained = Object.entries(members).filter(([name]) => allowed.has(name))
  return retained.length === 0 ? undefined : Object.fromEntries(retained)
}

async function readOrCreateKey(folder: string, file: string | undefined): Promise<Buffer> {
  const path = file ?? join(folder, generatedKeyFile)
  const key = file === undefined ? await readFile(path).catch(ignoreMissing) : await readFile(path)
  if (key === undefined) {
    const text = randomBytes(minKeyBytes).toString('base64url')
    await writeAtomically(path, text)
    return Buffer.from(text)
  }
  const text = key.toString('latin1').trim()
  if (text.length < minKeyBytes) {
    throw new Error(`the redaction key has ${text.length} bytes; expected at least ${minKeyBytes}`)
  }
  return Buffer.from(text, 'latin1')
}
