/*
 * What earlier builds had, with a sentence that names what to use instead. Files, environment variables and command lines
 * that still have it are refused with this sentence, until 0.2.
 */

/** By path, with `[]` behind a list: `audit.sinks[].topic`. One of `upstreams` is listed as one of `upstream`. */
export const removedSettings: Readonly<Record<string, string>> = {
  workers:
    'a gateway is one process: run one instance for each core, as examples/systemd does, or more replicas',
  catalog:
    'the bundled catalog is no adapter to another one: set upstream.url of the gateway to that catalog',
  secrets: 'the bundled catalog stores no functions and no secrets (406)',
  'policies.kubernetes.apiServer': 'the gateway uses the API server of the cluster that its pod runs in',
  'policies.kubernetes.caFile': 'the gateway uses the service account of its pod',
  'policies.kubernetes.tokenFile': 'the gateway uses the service account of its pod',
  'policies.kubernetes.lease':
    'every gateway writes the status of policies; remove the setting and the Role for the Lease',
  'policies.kubernetes.webhook':
    'the CustomResourceDefinition and the ValidatingAdmissionPolicies of the chart refuse mistakes, and the status of a policy has the rest',
  'policies.kubernetes.namespaces[].maxPolicies':
    'a Kubernetes namespace may have 100 policies; a ResourceQuota can lower that',
  'policies.kubernetes.namespaces[].maxPolicyBytes': 'a policy may have 65,536 bytes',
  'policies.kubernetes.namespaces[].maxConditions':
    'the policies of a Kubernetes namespace may have 100 conditions',
}

/** By path of the document, without list indexes. */
export const removedPolicyFields: Readonly<Record<string, string>> = {}

/** As typed, without the name of the program. */
export const removedCommands: Readonly<Record<string, string>> = {
  completion: 'each command lists its options with --help',
}

/** By command and option: `check --probe`; `* --option` for all commands. */
export const removedOptions: Readonly<Record<string, string>> = {}

/** Returns `; SENTENCE` for a setting that was removed, else an empty string. */
export function explainRemovedSetting(path: readonly (string | number)[]): string {
  const key = path.map((name) => (typeof name === 'number' ? '[]' : `.${name}`)).join('')
  return explain(removedSettings, key.slice(1).replace(/^upstreams\[\]/, 'upstream'))
}

/** Returns `; SENTENCE` for a field of policies that was removed, else an empty string. */
export function explainRemovedField(path: string): string {
  return explain(removedPolicyFields, path)
}

/** Returns the sentence for a command or an option that was removed, if the words begin with one. */
export function explainRemovedArgument(words: readonly string[]): string | undefined {
  const options = words.filter((word) => word.startsWith('--')).map((word) => word.replace(/=.*/, ''))
  const names = words.slice(0, words.findIndex((word) => word.startsWith('-')) >>> 0)
  for (let length = Math.min(names.length, 2); length >= 0; length--) {
    const command = names.slice(0, length).join(' ')
    if (Object.hasOwn(removedCommands, command)) return removedCommands[command]
    for (const option of options) {
      const key = `${command === '' ? '*' : command} ${option}`
      if (Object.hasOwn(removedOptions, key)) return removedOptions[key]
    }
  }
  return undefined
}

function explain(table: Readonly<Record<string, string>>, key: string): string {
  return Object.hasOwn(table, key) ? `; ${table[key]}` : ''
}
