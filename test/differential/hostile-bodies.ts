import { gzipSync } from 'node:zlib'
import { words } from './target-dictionary.ts'
import { forbiddenTable } from './test-objects.ts'
import type { Random } from './random.ts'
import type { RequestDraft } from './request-draft.ts'

/** Applies one mutation to the body that some readers of JSON or Arrow interpret differently. */
export function mutateBody(draft: RequestDraft, random: Random): RequestDraft {
  const body = draft.body ?? Buffer.from('{}')
  const isJson = body[0] === 0x7b
  return {
    ...draft,
    body: isJson && random.chance(0.8) ? mutateText(String(body), random) : mutateBytes(body, random),
  }
}

const forbidden = JSON.stringify(forbiddenTable)
const idNames = [
  ...words('id \\u0069d i\\u0064 ID Id ıd ｉｄ id\\u0000 Id\\u200b $id _id table_id query'),
  'id ',
]
const idValues = [
  forbidden,
  '"production$orders"',
  '["production$orders"]',
  '["production","orders",""]',
  '[["production","orders"]]',
  '{"0":"production"}',
  '{"id":["production","orders"]}',
  'null',
  '[]',
  '1',
  'true',
  '["sandbox","orders",null]',
  '["sandbox","\\u006frders"]',
  '["sandbox","orders"]',
  '["sandbox","orders\\u0000"]',
  '["sandbox","..","production","orders"]',
  '["\\ud800"]',
]
const members = [
  '"identity":{"api_key":"k"}',
  '"identity":{"auth_token":"t"}',
  '"identity":null',
  '"ident\\u0069ty":{"api_key":"k"}',
  '"Identity":{"api_key":"k"}',
  '"context":{"gateway-principal":"admin"}',
  '"context":{"a":"b"}',
  '"context":{"header.authorization":"Bearer t"}',
  '"context":{"HEADER.x-api-key":"k"}',
  '"context":{"header.x-catalog-ctx-gateway":"k"}',
  '"context":[]',
  '"Context":{"gateway":"a"}',
  `"query":{"id":${forbidden}}`,
  '"query":{"identity":{"api_key":"k"}}',
  '"query":{"context":{"a":"b"}}',
  '"mode":"Overwrite"',
  '"mode":"OVER_WRITE"',
  '"Mode":"Overwrite"',
  '"mode":["Overwrite"]',
  '"behavior":"Cascade"',
  '"behaviour":"Cascade"',
  '"branch":"../main"',
  '"branch":"b"',
  '"branch":null',
  '"version":1e400',
  '"version":-0',
  '"version":9007199254740993',
  '"version":0x1',
  '"version":01',
  '"version":NaN',
  '"vend_credentials":true',
  '"vend_credentials":"true"',
  '"location":"/production/orders.lance"',
  '"manifest_path":"production/orders.lance/_versions/1.manifest"',
  '"manifest_path":"../a/_versions/b"',
  '"new_table_name":"x","new_namespace_id":["production"]',
  '"new_table_name":"x","new_namespace":["production"],"new_namespace_id":["sandbox"]',
  '"new_table_name":"../production"',
  `"operations":[{"deregister_table":{"id":${forbidden}}}]`,
  `"operations":[{"declare_table":{"id":["sandbox","a"]},"deregister_table":{"id":${forbidden}}}]`,
  `"entries":[{"id":${forbidden},"version":2,"manifest_path":"a/_versions/2"}]`,
  '"__proto__":{"id":["production","orders"]}',
  '"constructor":{}',
  '"metadata":{"a":"b"}',
  `"metadata":{"a":"b"},"id":${forbidden}`,
  '"":""',
  '"a":"\\ud800"',
  '"a":"\x01"',
  "'a':1",
  'a:1',
  '"a":1,',
  '/*"a":1*/"b":2',
  '"a":"\x00"',
  '"a":undefined',
  '"index_name":"other"',
  '"filter":"id = 1"',
  '"filter":"true) or (true"',
  '"filter":"id = 1\\u0000"',
  '"Filter":"true"',
  '"fi\\u006cter":"name like \'a\'"',
  '"filter":["true"]',
  '"filter\\u0000":"true"',
  '"predicate":"id >= 0"',
  '"predicate":"true), (true"',
  '"query":{"filter":"true"}',
  '"columns":["id"]',
  '"columns":["*"]',
  '"columns":{"a":"name"}',
  '"columns":{"column_names":["id"],"column_names":["name"]}',
  '"Columns":["name"]',
  '"prefilter":false',
  '"branch":"main"',
  '"on":"other"',
]
const wrappings: readonly ((text: string) => string)[] = [
  (text) => ` \n\t${text}\r\n `,
  (text) => `\ufeff${text}`,
  (text) => text + text,
  (text) => `${text}x`,
  (text) => `${text}\x00`,
  (text) => `${text}//a`,
  (text) => `//a\n${text}`,
  (text) => `[${text}]`,
  (text) => JSON.stringify(text),
  (text) => text.slice(0, -1),
  (text) => text.slice(1),
  (text) => `${text},`,
  (text) => text.replaceAll('"', "'"),
  (text) => text.replaceAll(':', '='),
  (text) => `)]}',\n${text}`,
  () => `{"a":${'['.repeat(70)}${']'.repeat(70)}}`,
  () => `{"a":${'{"a":'.repeat(5_000)}1${'}'.repeat(5_000)}}`,
  () => 'null',
  () => '',
  () => ' ',
  () => '"id"',
  () => '0',
  () => '{}',
  (text) => text.replace('{', `{"large":"${'x'.repeat(300_000)}",`),
  (text) => text.replace('{', `{${' '.repeat(70_000)}`),
  (text) => encodeURIComponent(text),
  (text) => text.replaceAll(/[a-z]/g, (letter) => `\\u00${letter.charCodeAt(0).toString(16)}`),
]

function mutateText(text: string, random: Random): Buffer {
  const kind = random.below(10)
  if (kind < 4)
    return Buffer.from(addMember(text, random, `"${random.pick(idNames)}":${random.pick(idValues)}`))
  if (kind < 8) return Buffer.from(addMember(text, random, random.pick(members)))
  if (kind < 9) return Buffer.from(random.pick(wrappings)(text))
  return changeEncoding(text, random)
}

/** Adds a member at the start or the end, or twice. */
function addMember(text: string, random: Random, member: string): string {
  const members = text.slice(1, -1)
  const list =
    members === ''
      ? [member]
      : random.pick([
          [member, members],
          [members, member],
          [member, members, member],
          [member, member, members],
        ])
  return `{${list.join(random.pick([',', ',', ',', ' , ', ',,', ';']))}}`
}

function changeEncoding(text: string, random: Random): Buffer {
  const utf16 = Buffer.from(`\ufeff${text}`, 'utf16le')
  return random.pick([
    utf16,
    utf16.subarray(2),
    Buffer.from(utf16).swap16(),
    gzipSync(text),
    Buffer.from(text.replace('"', '"\xff'), 'latin1'),
    Buffer.concat([Buffer.from(text.slice(0, -1)), Buffer.from([0xc0, 0xaf]), Buffer.from('}')]),
    Buffer.concat([Buffer.from('{"a":"'), Buffer.from([0xed, 0xa0, 0x80]), Buffer.from('"}')]),
    Buffer.from([...Buffer.from(text, 'latin1')].flatMap((byte) => [0, 0, 0, byte])),
  ])
}

/** Changes, removes or adds bytes, so that lengths in an Arrow stream are false. */
function mutateBytes(body: Buffer, random: Random): Buffer {
  const at = random.below(Math.max(1, body.length))
  const changed = Buffer.from(body)
  if (changed.length > 0) changed[at] = random.below(256)
  return random.pick([
    changed,
    body.subarray(0, at),
    Buffer.concat([body, body]),
    Buffer.concat([body, Buffer.from('\r\n\r\nPOST / HTTP/1.1\r\n\r\n')]),
    Buffer.concat([Buffer.from([0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f]), body]),
    Buffer.alloc(0),
  ])
}
