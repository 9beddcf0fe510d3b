import { describe, expect, it } from 'vitest'
import type { z } from 'zod'
import { backendSettingsSchema } from '../../src/backend/settings/backend-settings.ts'
import { environmentVariableName, readSettings } from '../../src/settings/read-settings.ts'
import { gatewaySettingsSchema } from '../../src/config/gateway-settings.ts'
import {
  removedCommands,
  removedOptions,
  removedPolicyFields,
  removedSettings,
  removedValues,
} from '../../src/settings/removed.ts'
import { runCommand } from '../support/run-command.ts'
import { parsePolicies } from '../policy/parse-policies.ts'

function read(text: string, environment: Record<string, string>, schema: z.ZodType = gatewaySettingsSchema) {
  return readSettings(schema, { file: 'settings.yaml', text, environment })
}

/** Sinks of one type only have some settings. */
const required: Readonly<Record<string, object>> = {
  sinks: { name: 'a', type: 'otlp', url: 'https://a.example' },
}

function nest(path: readonly string[], value: unknown): unknown {
  return path.reduceRight<unknown>((content, name) => {
    const list = name.endsWith('[]') ? name.slice(0, -2) : undefined
    if (list === undefined) return { [name]: content }
    const members = typeof content === 'object' ? { ...required[list], ...content } : content
    return { [list]: [members] }
  }, value)
}

describe.each(Object.entries(removedSettings))('the setting %s', (key, sentence) => {
  const path = key.split('.')
  const schema = key.startsWith('data.') ? backendSettingsSchema : gatewaySettingsSchema

  it('is refused in a file with what to use instead', () => {
    expect(() => read(JSON.stringify(nest(path, true)), {}, schema)).toThrow(sentence)
  })

  it.skipIf(key.includes('[]'))('is refused in the environment with what to use instead', () => {
    expect(() => read('{}', { [environmentVariableName(path)]: '1' }, schema)).toThrow(sentence)
  })
})

it.each(Object.entries(removedValues))('refuses the value %s with what to use instead', (key, sentence) => {
  const [path = '', value = ''] = key.split(': ')
  expect(() => read(JSON.stringify(nest(path.split('.'), value)), {})).toThrow(sentence)
})

it.each(Object.entries(removedCommands))(
  'refuses the command %s with what to use instead',
  async (name, sentence) => {
    const { status, messages } = await runCommand(name.split(' '))
    expect(status).toBe(2)
    expect(messages).toContain(sentence)
  },
)

it.each(Object.entries(removedOptions))('refuses %s with what to use instead', async (words, sentence) => {
  const { status, messages } = await runCommand(words.split(' '))
  expect(status).toBe(2)
  expect(messages).toContain(sentence)
})

it.each(Object.entries(removedPolicyFields))(
  'refuses the field %s of a policy with what to use instead',
  (field, sentence) => {
    const path = field.split('.')
    const lists = new Set(['rules', 'restrict'])
    const content = path.reduceRight<unknown>(
      (value, name) => ({ [name]: lists.has(name) && typeof value === 'object' ? [value] : value }),
      'x',
    )
    const document = { apiVersion: 'catalog-gateway/v1', kind: 'AccessPolicy', namespace: [] }
    const text = JSON.stringify({ ...document, ...(typeof content === 'object' ? content : {}) })
    const { problems } = parsePolicies(text, 'policies.yaml')
    expect(problems.map(({ message }) => message).join()).toContain(sentence)
  },
)
