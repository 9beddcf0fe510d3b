import { userInfo } from 'node:os'
import { InvalidArgumentError, Option, type Command } from 'commander'
import { parseDuration } from '../lib/index.ts'
import {
  type CreatedKey,
  createKey,
  listKeys,
  readOrCreatePepper,
  readPepper,
  revokeKey,
  rotateKey,
  type StoredKey,
} from '../identity/index.ts'
import { collect, parseTime } from './common/arguments.ts'
import { runStep } from './common/command-failure.ts'
import { printJson, printLine, type Io } from './common/io.ts'
import { formatExample, jsonOption, newCommand } from './common/new-command.ts'

interface StoreOptions {
  readonly store: string
  readonly pepperFile: string
}

interface RotateOptions extends StoreOptions {
  readonly overlap: number
}

interface CreateOptions extends StoreOptions {
  readonly principal: string
  readonly group?: readonly string[]
  readonly subject?: string
  readonly notBefore?: Date
  readonly expires?: Date
  readonly description?: string
}

const store = ['--store <file>', 'the store of keys'] as const

export function keysCommand(io: Io): Command {
  const keys = newCommand('keys', io).description('create, list, rotate and revoke API keys')
  keys
    .command('create')
    .description('create a key and print it; it cannot be shown again')
    .requiredOption('--store <file>', 'the key store; created if missing')
    .requiredOption(
      '--pepper-file <file>',
      'file with the pepper of the hashes in the store; created with the first key',
    )
    .requiredOption('--principal <name>', 'the principal of the key')
    .option('--group <name>', 'a group of the principal; repeatable', collect)
    .option(
      '--subject <name>',
      'principal whose token or certificate may be sent with the key, such as corp:alice',
    )
    .option('--not-before <time>', 'start of validity, such as 2027-01-01T00:00:00Z', parseTime)
    .option('--expires <time>', 'expiry, such as 2027-01-31T00:00:00Z', parseFutureTime)
    .option('--description <text>', 'description of the key')
    .addHelpText(
      'after',
      formatExample(
        'catalog-gateway keys create --store keys.yaml --pepper-file pepper --principal nightly-load --group loaders --expires 2027-01-31T00:00:00Z',
      ),
    )
    .action((options: CreateOptions) => create(options, io))
  keys
    .command('list')
    .description('list the keys of a store, without their secrets')
    .requiredOption('--store <file>', 'the key store, or a folder of key stores')
    .option(...jsonOption)
    .addHelpText(
      'after',
      formatExample(
        'catalog-gateway keys list --store .catalog-gateway/keys.yaml --json | jq -r \'.[] | select(.state == "expired").id\'',
      ),
    )
    .action((options: { store: string; json?: true }) => list(options, io))
  keys
    .command('rotate')
    .description('create a successor of a key and print it; the old key expires after a grace period')
    .requiredOption(...store)
    .requiredOption('--pepper-file <file>', 'file with the pepper of the hashes in the store')
    .addOption(
      new Option('--overlap <duration>', 'grace period of the old key, such as 30m, 12h or 7d')
        .argParser(parseOverlap)
        .default(day, '24h'),
    )
    .argument('<key-id>', 'the id of the key, as `keys list` shows it')
    .addHelpText(
      'after',
      formatExample(
        'catalog-gateway keys rotate --store keys.yaml --pepper-file pepper --overlap 7d mJ3nPqRsT8vW',
      ),
    )
    .action((id: string, options: RotateOptions) => rotate(id, options, io))
  keys
    .command('revoke')
    .description('revoke a key: a running gateway refuses it within a second')
    .requiredOption(...store)
    .argument('<key-id>', 'the id of the key, as `keys list` shows it')
    .addHelpText('after', formatExample('catalog-gateway keys revoke --store keys.yaml mJ3nPqRsT8vW'))
    .action(async (id: string, { store }: { store: string }) => {
      await runStep(`the key ${id} cannot be revoked`, () => revokeKey(store, id, getUserName()))
      printLine(io, `revoked ${id}`)
    })
  return keys
}

async function create(options: CreateOptions, io: Io): Promise<void> {
  const { store, pepperFile, group: groups = [], expires: expiresAt, ...described } = options
  const created = await runStep('the key cannot be created', async () => {
    const pepper = await readOrCreatePepper(pepperFile, store)
    return createKey(store, pepper, { ...described, groups, expiresAt, createdBy: getUserName() })
  })
  printKey(created, io)
}

async function rotate(id: string, { store, pepperFile, overlap }: RotateOptions, io: Io): Promise<void> {
  const endsAt = new Date(Date.now() + overlap)
  const created = await runStep(`the key ${id} cannot be rotated`, async () =>
    rotateKey(store, await readPepper(pepperFile), { id, endsAt, by: getUserName() }),
  )
  io.stderr.write(`key ${id} expires at ${endsAt.toISOString()} at the latest\n`)
  printKey(created, io)
}

function printKey({ text, key }: CreatedKey, io: Io): void {
  io.stderr.write(`key ${key.id} for ${key.principal}; store it now, it cannot be shown again:\n`)
  printLine(io, text)
}

async function list({ store, json }: { store: string; json?: true }, io: Io): Promise<void> {
  const keys = await runStep('the keys cannot be listed', () => listKeys(store))
  const nowMs = Date.now()
  if (json) {
    const printed = keys.map((key) => ({
      ...key,
      hash: undefined,
      state: describeValidity(key, nowMs).state,
    }))
    return printJson(io, printed)
  }
  for (const key of keys) {
    const { id, principal, groups, subject, createdAt, description } = key
    const { text } = describeValidity(key, nowMs)
    const line = [id, principal, groups.join(',') || '-', `since ${createdAt}`, text]
    if (subject !== undefined) line.push(`for ${subject}`)
    if (description !== undefined) line.push(description)
    printLine(io, line.join('  '))
  }
}

function describeValidity(key: StoredKey, nowMs: number): { readonly state: string; readonly text: string } {
  const { revokedAt, notBefore, expiresAt } = key
  const until = expiresAt === undefined ? 'valid' : `until ${expiresAt}`
  if (revokedAt !== undefined) return { state: 'revoked', text: `revoked ${revokedAt}` }
  if (expiresAt !== undefined && Date.parse(expiresAt) <= nowMs)
    return { state: 'expired', text: `expired ${expiresAt}` }
  return notBefore !== undefined && nowMs < Date.parse(notBefore)
    ? { state: 'not yet valid', text: `from ${notBefore} ${until}` }
    : { state: 'valid', text: until }
}

function parseFutureTime(text: string): Date {
  const date = parseTime(text)
  if (date.getTime() <= Date.now()) throw new InvalidArgumentError('expected a time in the future')
  return date
}

const day = 86_400_000
const maxOverlap = 3650 * day

/** In milliseconds. */
function parseOverlap(text: string): number {
  const overlap = parseDuration(text)
  if (overlap <= maxOverlap) return overlap
  throw new InvalidArgumentError('expected a duration such as 30m, 12h or 7d, of at most 3650d')
}

/** Returns the name of the user that runs the program, for the audit log; its number if the system has no name for it. */
function getUserName(): string {
  try {
    return userInfo().username
  } catch {
    return `uid ${process.getuid?.() ?? 'unknown'}`
  }
}
