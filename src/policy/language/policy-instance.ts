import { groupBy } from '../../lib/group-by.ts'
import type { PolicyInstance } from './for-each.ts'
import type { PolicyDocument } from './policy-document.ts'

/**
 * Returns the name of a document: `teams[crm]` for the value `crm` of `teams`, otherwise the name of the policy. As names of
 * policies contain no brackets, it is unique if the name of the policy is.
 */
export function nameDocument(policy: string, instance: PolicyInstance | undefined): string {
  return instance === undefined ? policy : `${policy}[${instance.value}]`
}

/** Returns the name of the policy that a document is of: `teams` for `teams[crm]`. */
export function getPolicyName({ name, instance }: Pick<PolicyDocument, 'name' | 'instance'>): string {
  return instance === undefined ? name : name.slice(0, -nameDocument('', instance).length)
}

/** A message about a document of a policy; `instance` is undefined if that is its only one. */
interface InstanceMessage<Item> {
  readonly item: Item
  readonly instance: PolicyInstance | undefined
}

/** Describes the documents of one policy; see `mergeInstances`. */
export function describeEach(
  documents: readonly PolicyDocument[],
  describe: (document: PolicyDocument) => readonly string[],
): readonly string[] {
  const messages = documents.flatMap((document) =>
    describe(document).map((message) => ({ item: { message }, instance: document.instance })),
  )
  return mergeInstances(messages, documents.length, () => '').map(({ message }) => message)
}

/**
 * Merges messages about the `count` documents of one policy that have the same key and differ only in the value. One that
 * all documents have names the variable, any other the values that have it.
 */
export function mergeInstances<Item extends { readonly message: string }>(
  messages: readonly InstanceMessage<Item>[],
  count: number,
  keyOf: (item: Item) => string,
): readonly Item[] {
  const groups = groupBy(messages, (one) => `${keyOf(one.item)}\0${generalizeMessage(one)}`)
  return [...groups.values()].flatMap((group) =>
    group.slice(0, 1).map(({ item }) => ({ ...item, message: mergeMessages(group, count) })),
  )
}

/**
 * Merges messages about several policies as `mergeInstances` does for one. `policy` is the name of the document that a
 * message is about; it is undefined, or not that of a document, for a message about none.
 */
export function mergeByPolicy<Item extends { readonly message: string; readonly policy?: string }>(
  items: readonly Item[],
  documents: readonly PolicyDocument[],
  keyOf: (item: Item) => string,
): readonly Item[] {
  const byName = new Map(documents.map((document) => [document.name, document]))
  const ofPolicy = groupBy(byName.values(), getPolicyName)
  const groups = groupBy(items, ({ policy = '' }) => {
    const document = byName.get(policy)
    return document === undefined ? '' : getPolicyName(document)
  })
  return [...groups].flatMap(([policy, group]) => {
    const instances = group.map((item) => ({ item, instance: byName.get(item.policy ?? '')?.instance }))
    if (instances.every(({ instance }) => instance === undefined)) return group
    return mergeInstances(instances, ofPolicy.get(policy)?.length ?? 0, keyOf)
  })
}

const maxValues = 3

function mergeMessages(
  group: readonly InstanceMessage<{ readonly message: string }>[],
  count: number,
): string {
  const [first] = group
  if (first === undefined) return ''
  const { message } = first.item
  if (first.instance === undefined) return message
  const values = [...new Set(group.map(({ instance }) => instance?.value))]
  if (values.length === count)
    return group.every(({ item }) => item.message === message) ? message : generalizeMessage(first)
  const hidden = values.length - maxValues
  const shown = [...values.slice(0, maxValues), ...(hidden > 0 ? [`and ${hidden} more`] : [])]
  return `${message} (${first.instance.variable}: ${shown.join(', ')})`
}

/** Puts the variable back in place of the value, unless that is part of a longer word. */
function generalizeMessage({
  item: { message },
  instance,
}: InstanceMessage<{ readonly message: string }>): string {
  if (instance === undefined || !message.includes(instance.value)) return message
  const { variable, value } = instance
  const whole = new RegExp(`(?<![A-Za-z0-9])${value.replaceAll('.', String.raw`\.`)}(?![A-Za-z0-9])`, 'g')
  return message.replaceAll(whole, `{${variable}}`)
}
