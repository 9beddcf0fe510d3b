import fc from 'fast-check'
import { expect, it } from 'vitest'
import { CatalogError } from '../../../src/catalog-api/catalog-error.ts'
import { JsonTransformer } from '../../../src/gateway/json/json-transformer.ts'
import {
  splitIntoBytes,
  jsonObjects,
  mutatedObjects,
  splitIntoChunks,
  type JsonCase,
} from './json-arbitraries.ts'
import { isThorough } from '../../support/thorough.ts'

// Compares the scanner with a slow and obvious reader that uses JSON.parse: both must accept the same texts.

type Json = null | boolean | number | string | Json[] | Members
interface Members extends Map<string, Json> {}

/** The members of a document, or its rejection. */
type Reading = { readonly members: Members | undefined } | 'refused'

/** Uses JSON.parse. Detects repeated names by counting their texts. */
function obviously(bytes: Buffer): Reading {
  let text: string
  try {
    text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    return 'refused'
  }
  if (/^[ \n\r\t]*$/.test(text)) return { members: undefined }
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return 'refused'
  }
  if (value === null) return { members: undefined }
  if (typeof value !== 'object' || Array.isArray(value)) return 'refused'
  const withoutTexts = text.replaceAll(/"(?:[^"\\]|\\.)*"/gs, '""')
  const colons = withoutTexts.split(':').length - 1
  return colons === countNames(value) ? { members: asMap(value) } : 'refused'
}

function countNames(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0
  const own = Array.isArray(value) ? 0 : Object.keys(value).length
  return Object.values(value).reduce<number>((sum, item) => sum + countNames(item), own)
}

function asMap(value: object): Members {
  return new Map(Object.entries(value) as [string, Json][])
}

/** Uses the scanner, chunk by chunk. */
function scanned(chunks: readonly Buffer[]): Reading {
  const members: Members = new Map()
  const text = new JsonTransformer(
    {
      visitMember: () => 'value',
      visitValue(value, { name }) {
        members.set(name, JSON.parse(value) as Json)
        return undefined
      },
    },
    1_000_000,
  )
  try {
    const out = chunks.flatMap((chunk) => {
      text.push(chunk)
      return text.takeReady()
    })
    const isObject = text.end()
    // Without removals the text is unchanged.
    if (!Buffer.concat([...out, ...text.takeRest()]).equals(Buffer.concat(chunks)))
      throw new Error('other bytes')
    return { members: isObject ? members : undefined }
  } catch (error) {
    if (error instanceof CatalogError && error.status === 400) return 'refused'
    throw error
  }
}

const numRuns = isThorough ? 1_000 : 80

it.each<[what: string, documents: fc.Arbitrary<JsonCase>, runs: number]>([
  ['objects', jsonObjects, isThorough ? 1_000 : 80],
  ['objects with bytes changed', mutatedObjects, isThorough ? 3_000 : 250],
])('%s are read as by JSON.parse, in one chunk or several', (_what, documents, runs) => {
  let refused = 0
  fc.assert(
    fc.property(documents, (document) => {
      const expected = obviously(document.bytes)
      if (expected === 'refused') refused += 1
      const inChunks = [[document.bytes], splitIntoChunks(document), splitIntoBytes(document.bytes)]
      expect(inChunks.map(scanned)).toEqual([expected, expected, expected])
    }),
    { numRuns: runs },
  )
  // Both kinds must occur, or the test would prove nothing.
  expect(refused).toBeGreaterThan(runs / 50)
  expect(refused).toBeLessThan(runs - runs / 50)
})

it('any byte of a document may be changed', () => {
  const others = Buffer.concat([
    Buffer.from('{}[],:"\\09-+.eEtrufalsn \n\t\0'),
    Buffer.from([0x7f, 0x80, 0xbf, 0xc3, 0xe2, 0xf0, 0xff]),
  ])
  const sample = Buffer.from(
    '{"id":["a","é"],"\\u0069":-1.5e+3,"b":[{},[],true,null,false,0,0e1,""] ,"c":{"d":"\\n"}}',
  )
  for (let at = 0; at < sample.length; at += 1) {
    for (const byte of others) {
      const bytes = Buffer.from(sample)
      bytes[at] = byte
      const readings = [[bytes], [bytes.subarray(0, at), bytes.subarray(at)]].map(scanned)
      const expected = obviously(bytes)
      expect(readings, `${byte} at ${at}`).toEqual([expected, expected])
    }
  }
})

it('does not return the last chunk before the end of the text', () => {
  fc.assert(
    fc.property(jsonObjects, (document) => {
      const chunks = splitIntoChunks(document).filter(({ length }) => length > 0)
      const text = new JsonTransformer({ visitMember: () => 'nothing' }, 0)
      let stated = 0
      let before = 0
      for (const chunk of chunks) {
        try {
          text.push(chunk)
        } catch {
          return
        }
        for (const { length } of text.takeReady()) stated += length
        expect(stated).toBeLessThanOrEqual(before)
        before += chunk.length
      }
    }),
    { numRuns },
  )
})

it('white space behind the end is held in bounded memory', () => {
  const text = new JsonTransformer({ visitMember: () => 'nothing' }, 0)
  text.push(Buffer.from('{"a":1}'))
  expect(() => {
    for (let count = 0; count < 100; count += 1) {
      text.push(Buffer.alloc(1000, ' '))
      text.takeReady()
    }
  }).toThrow('more than 65536 bytes of white space behind its end')
})

it('a name may have 64 KiB with its brace and quotes', () => {
  const text = new JsonTransformer({ visitMember: () => 'nothing' }, 0)
  expect(() => text.push(Buffer.from(`{"${'a'.repeat(65_533)}":1}`))).not.toThrow()
})

it.each<[what: string, says: RegExp, document: Buffer]>([
  ['a name of 64 KiB', /a name in the body/, Buffer.from(`{"${'a'.repeat(65_534)}":1}`)],
  [
    'a value that is wanted',
    /"a" in the body is longer than 100 bytes/,
    Buffer.from(`{"a":"${'b'.repeat(100)}"}`),
  ],
  [
    'the names of an object that is open',
    /the names in the body take too much memory/,
    Buffer.from(`{${Array.from({ length: 140_000 }, (_, index) => `"${index}":{}`).join(',')}}`),
  ],
])('%s is read in bounded memory, in any chunks', (_what, says, document) => {
  for (const size of [document.length, 1000, 64]) {
    const text = new JsonTransformer({ visitMember: ({ name }) => (name === 'a' ? 'value' : 'nothing') }, 100)
    expect(() => {
      for (let at = 0; at < document.length; at += size) text.push(document.subarray(at, at + size))
    }).toThrow(says)
  }
})
