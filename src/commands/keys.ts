import { InvalidArgumentError, type Command } from 'commander'
import { createKey, listKeys, revokeKey } from '../identity/api-key-store.ts'
import { readOrMakePepper } from '../identity/pepper.ts'
import { attempt } from './failure.ts'
import { newCommand } from './new-command.ts'

interface Store {
  readonly store: string
}

interface Creation extends Store {
  readonly pepperFile: string
  readonly principal: string
  readonly group: readonly string[]
  readonly expires?: Date
  readonly description?: string
}

/** `catalog-gateway keys create|list|revoke`: the API keys of a store. */
export function keysCommand(): Command {
  const keys = newCommand('keys').description('create, list and revoke API keys')
  keys
    .command('create')
    .description('create a key and print it: it cannot be shown again')
    .requiredOption('--store <file>', 'the store of keys; made if it is not there')
    .requiredOption('--pepper-file <file>', 'the secret of the hashes in the store; made if it is not there')
    .requiredOption('--principal <name>', 'whom the key stands for')
    .option('--group <name>', 'a group of the principal; may be repeated', collect, [])
    .option('--expires <time>', 'when the key ends, such as 2027-01-31T00:00:00Z', time)
    .option('--description <text>', 'what the key is for')
    .action(create)
  keys
    .command('list')
    .description('list the keys of a store; the keys themselves are not in it')
    .requiredOption('--store <file>', 'the store of keys')
    .action(list)
  keys
    .command('revoke')
    .description('revoke a key: a running gateway refuses it within seconds')
    .requiredOption('--store <file>', 'the store of keys')
    .argument('<key-id>', 'the id of the key, as `keys list` shows it')
    .action(async (id: string, { store }: Store) => {
      await attempt(`the key ${id} cannot be revoked`, () => revokeKey(store, id))
      process.stdout.write(`revoked ${id}\n`)
    })
  return keys
}

async function create({
  store,
  pepperFile,
  principal,
  group,
  expires,
  description,
}: Creation): Promise<void> {
  const { text, key } = await attempt('the key cannot be created', async () =>
    createKey(store, await readOrMakePepper(pepperFile), {
      principal,
      groups: group,
      ...(expires && { expiresAt: expires }),
      ...(description !== undefined && { description }),
    }),
  )
  process.stderr.write(`key ${key.id} for ${principal}; keep what follows, it cannot be shown again:\n`)
  process.stdout.write(`${text}\n`)
}

async function list({ store }: Store): Promise<void> {
  const keys = await attempt('the keys cannot be listed', () => listKeys(store))
  for (const { id, principal, groups, createdAt, expiresAt, revokedAt, description } of keys) {
    const state = revokedAt ? `revoked ${revokedAt}` : expiresAt ? `until ${expiresAt}` : 'valid'
    const line = [id, principal, groups.join(',') || '-', `since ${createdAt}`, state, description ?? '']
    process.stdout.write(`${line.join('  ').trimEnd()}\n`)
  }
}

function collect(value: string, previous: readonly string[]): readonly string[] {
  return [...previous, value]
}

function time(text: string): Date {
  const date = new Date(text)
  if (date.getTime() <= Date.now()) throw new InvalidArgumentError('expected a time to come')
  if (Number.isNaN(date.getTime()))
    throw new InvalidArgumentError('expected a time such as 2027-01-31T00:00:00Z')
  return date
}
