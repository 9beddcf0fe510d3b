import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { CatalogError } from '../../src/catalog-api/catalog-error.ts'
import { getOperation, operationNames } from '../../src/catalog-api/operations.ts'
import { buildTarget, parseTarget } from '../../src/catalog-api/request-target.ts'
import { anyDelimiter, anyTarget } from './arbitrary-targets.ts'
import { isThorough } from '../support/thorough.ts'
import { anyCharacter } from '../support/any-character.ts'

/** Valid targets by RFC 3986, written independently of the parser. */
const originForm =
  /^\/([A-Za-z0-9._~!$&'()*+,;=:@/-]|%[0-9A-Fa-f]{2})*(\?([A-Za-z0-9._~!$&'()*+,;=:@/?-]|%[0-9A-Fa-f]{2})*)?$/

/** Targets whose id does not contain the default delimiter. */
const writable = anyTarget.filter(({ id }) => id.every((part) => !part.includes('$')))

describe('query parameters of old clients', () => {
  it('drops the request id of an insert, and takes it once', () => {
    const target = parseTarget('POST', '/v1/table/t/insert/?request_id=a%2Fb&mode=append')
    expect(buildTarget(target)).toBe('/v1/table/t/insert?mode=append')
    expect(() => parseTarget('POST', '/v1/table/t/insert?request_id=a&request_id=a')).toThrow('is repeated')
    expect(() => parseTarget('POST', '/v1/table/t/query?request_id=a')).toThrow('unknown query parameter')
  })
})

describe('targets', () => {
  it('round-trip for every operation and any delimiter', () => {
    fc.assert(
      fc.property(anyTarget, anyDelimiter, (target, delimiter) => {
        let text: string
        try {
          text = buildTarget(target, delimiter)
        } catch (error) {
          expect(error).toBeInstanceOf(CatalogError)
          return
        }
        const expected = target.operation.object === 'none' ? target.delimiter : delimiter
        expect(parseTarget(target.operation.method, text)).toEqual({ ...target, delimiter: expected })
      }),
      { numRuns: isThorough ? 10_000 : 330 },
    )
  })

  it('have one canonical form, whatever the spelling of the request', () => {
    fc.assert(
      fc.property(writable, (target) => {
        const text = buildTarget(target)
        const spelled = text
          .replaceAll('%24', '$')
          .replaceAll(/%[0-9A-F]{2}/g, (triplet) => triplet.toLowerCase())
        expect(buildTarget(parseTarget(target.operation.method, spelled))).toBe(text)
      }),
    )
  })

  it('outside the grammar are never accepted', () => {
    const nearlyTarget = fc
      .tuple(writable, fc.string({ unit: anyCharacter, maxLength: 4 }), fc.nat())
      .map(([target, noise, at]) => {
        const text = buildTarget(target)
        const position = at % (text.length + 1)
        return {
          method: target.operation.method,
          text: text.slice(0, position) + noise + text.slice(position),
        }
      })
    fc.assert(
      fc.property(nearlyTarget, ({ method, text }) => {
        try {
          parseTarget(method, text)
        } catch (error) {
          expect(error).toBeInstanceOf(CatalogError)
          return
        }
        expect(text).toMatch(originForm)
      }),
      { numRuns: isThorough ? 20_000 : 665 },
    )
  })

  it.each(operationNames)(
    '%s matches with and without a trailing slash, and with no other method',
    (name) => {
      const { path, method, methods, required } = getOperation(name)
      const query = required.map((parameter) => `${parameter}=x`).join('&')
      const route = path
        .replace(/\/$/, '')
        .replace('{id}', 'a$b')
        .replace(/\{\w+\}/g, '7')
      for (const spelling of [`${route}?${query}`, `${route}/?${query}`]) {
        expect(parseTarget(method, spelling).operation.name).toBe(name)
        for (const other of ['GET', 'POST', 'PUT', 'DELETE', 'HEAD', 'OPTIONS', 'PATCH', 'TRACE']) {
          if (methods.some((accepted) => accepted === other)) continue
          expect(() => parseTarget(other, spelling)).toThrow(
            expect.objectContaining({ status: 405 }) as Error,
          )
        }
      }
    },
  )

  it.each(['0', '7', '10', '9223372036854775808', '18446744073709551615'])(
    'accepts %s as a row id, and as a number of 64 bits',
    (number) => {
      const target = `/v1/table/t/blob/image/${number}/bytes?version=${number}`
      const route = parseTarget('HEAD', target)
      expect(route).toMatchObject({ blob: { column: 'image', rowId: number } })
      expect(buildTarget(route)).toBe(target)
    },
  )

  it.each(['00', '07', '-1', '+1', '1.0', '1e3', '0x1', 'a1', '1a', '18446744073709551616', '1'.repeat(21)])(
    'refuses %s as a row id, and as a number of 64 bits',
    (text) => {
      for (const target of [`${text}/bytes`, `7/bytes?version=${encodeURIComponent(text)}`])
        expect(() => parseTarget('GET', `/v1/table/t/blob/image/${target}`)).toThrow(
          `is "${text}"; expected an integer from 0 to 18446744073709551615`,
        )
    },
  )

  it('may name a table "version" if the route is not a batch operation', () => {
    expect(parseTarget('POST', '/v1/table/version/create')).toMatchObject({ id: ['version'] })
    expect(parseTarget('POST', '/v1/table/version/batch-create').operation.name).toBe(
      'BatchCreateTableVersions',
    )
  })

  it('read a plus literally in the path and as a space in the query, as clients write it', () => {
    expect(parseTarget('POST', '/v1/table/a+b/drop').id).toEqual(['a+b'])
    const merge = parseTarget(
      'POST',
      '/v1/table/t/merge_insert?on=id&when_matched_update_all_filt=a+%3D+%2B1',
    )
    expect(merge.parameters.get('when_matched_update_all_filt')).toBe('a = +1')
  })

  it('retain the delimiter of a request whose response lists ids', () => {
    expect(buildTarget(parseTarget('GET', '/v1/table?delimiter=.'))).toBe('/v1/table?delimiter=.')
    expect(buildTarget(parseTarget('POST', '/v1/table/a.b/drop?delimiter=.'))).toBe('/v1/table/a%24b/drop')
  })

  it('serve the old name of DeclareTable', () => {
    expect(buildTarget(parseTarget('POST', '/v1/table/t/create-empty'))).toBe('/v1/table/t/declare')
  })

  it.each([
    ['an absolute form', 'http://other/v1/table/t/drop', 400],
    ['an asterisk', '*', 400],
    ['no path', '?limit=1', 400],
    ['a backslash', '/v1/table/sandbox$x\\..\\prod\\version/create', 400],
    ['a raw space', '/v1/table/a b/drop', 400],
    ['raw UTF-8', '/v1/table/ä/drop', 400],
    ['a fragment', '/v1/table/t/drop#x', 400],
    ['half a percent triplet', '/v1/table/t%2/drop', 400],
    ['overlong UTF-8', '/v1/table/%c0%ae/drop', 400],
    ['invalid UTF-8', '/v1/table/%ff/drop', 400],
    ['a surrogate in UTF-8', '/v1/table/%ed%a0%80/drop', 400],
    ['an encoded NUL', '/v1/table/a%00/drop', 400],
    ['an encoded NUL in the query', '/v1/namespace/$/list?page_token=a%00', 400],
    ['an encoded line break', '/v1/table/a%0d%0ab/drop', 400],
    ['an encoded slash', '/v1/table/a%2Fb/drop', 400],
    ['a double-encoded slash', '/v1/table/a%252Fb/drop', 400],
    ['an encoded dot segment', '/v1/table/%2e%2e/drop', 400],
    ['a dot segment', '/v1/table/../table/t/drop', 406],
    ['a doubled slash', '//v1/table/t/drop', 404],
    ['an empty id', '/v1/table//describe', 400],
    ['another case', '/V1/table/t/drop', 404],
    ['an encoded letter in a fixed segment', '/v1/t%61ble/t/drop', 406],
    ['an unknown action', '/v1/table/t/explode', 406],
    ['the root as a table', '/v1/table/$/drop', 400],
    ['a repeated delimiter', '/v1/table/t/drop?delimiter=$&delimiter=.', 400],
    ['an empty delimiter', '/v1/table/t/drop?delimiter=', 400],
    ['a repeated parameter', '/v1/namespace/$/list?limit=1&limit=2', 400],
    ['an unknown parameter', '/v1/namespace/$/list?branch=dev', 400],
    ['a parameter without a value', '/v1/namespace/$/list?limit', 400],
    ['a negative limit', '/v1/namespace/$/list?limit=-1', 400],
    ['a limit beyond 32 bits', '/v1/namespace/$/list?limit=4294967296', 400],
    ['a boolean that is none', '/v1/namespace/$/table/list?include_declared=1', 400],
    ['a missing required parameter', '/v1/table/t/merge_insert', 400],
    ['a part of no multipart write', '/v1/table/t/insert?upload_part_id=p', 400],
    ['more than 16 KiB', `/v1/table/${'a'.repeat(16_384)}/drop`, 414],
  ])('are refused: %s', (_what, target, status) => {
    const methods = ['GET', 'POST'].map((method) => statusOf(method, target))
    expect(methods).toContain(status)
    expect(methods.every((response) => response >= 400)).toBe(true)
  })

  it.each([
    ['the path', `/v1/namespace/${'a'.repeat(4096)}/list?page_token=`, 16_384],
    ['the query alone', '/v1/namespace?page_token=', 16_384],
  ])('may have 16 KiB, whatever part of them is %s', (_what, beginning, length) => {
    const longest = beginning.padEnd(length, 'a')
    expect(statusOf('GET', longest)).not.toBe(414)
    expect(statusOf('GET', `${longest}a`)).toBe(414)
  })

  it.each([
    ['0', '0'],
    ['2147483647', '2147483647'],
    ['0000000007', '0000000007'],
  ])('take %s as an integer', (value, limit) => {
    expect(parseTarget('GET', `/v1/namespace/$/list?limit=${value}`).parameters.get('limit')).toBe(limit)
  })

  it.each(['2147483648', '00000000007', '1.0', '1e1', '0x1', '+1', '%201', '1%20', 'a'])(
    'refuse %s as an integer',
    (value) => {
      expect(statusOf('GET', `/v1/namespace/$/list?limit=${value}`)).toBe(400)
    },
  )

  it.each([
    ['true', 'true'],
    ['False', 'false'],
    ['TRUE', 'true'],
  ])('take %s as a boolean, in lower case', (value, expected) => {
    const { parameters } = parseTarget('GET', `/v1/namespace/$/table/list?include_declared=${value}`)
    expect(parameters.get('include_declared')).toBe(expected)
  })

  it.each(['page_token', 'limit'])('treat an empty %s as absent, and refuse it if it is repeated', (name) => {
    expect(parseTarget('GET', `/v1/namespace/$/list?${name}=`).parameters.size).toBe(0)
    expect(statusOf('GET', `/v1/namespace/$/list?${name}=&${name}=1`)).toBe(400)
  })

  it('treat an empty timeout as absent, but not a flag that is false', () => {
    const { parameters } = parseTarget('POST', '/v1/table/t/merge_insert?on=id&timeout=&use_index=false')
    expect([...parameters.keys()]).toEqual(['on', 'use_index'])
    expect(parameters.get('use_index')).toBe('false')
  })

  it.each([
    ['GET', '/v1/namespace/$/table/list?include_declared='],
    ['POST', '/v1/table/t/merge_insert?on='],
    ['POST', '/v1/table/t/create?mode='],
    ['POST', '/v1/table/t/insert?branch='],
    ['POST', '/v1/table/t/describe?with_table_uri='],
  ])('reject an empty value of a parameter whose presence has an effect: %s %s', (method, target) => {
    expect(statusOf(method, target)).toBe(400)
  })

  it('keep all values of a list, in their order', () => {
    const target = parseTarget('POST', '/v1/table/t/merge_insert?on=b&on=a&on=b')
    expect(target.parameters.get('on')).toEqual(['b', 'a', 'b'])
    expect(buildTarget(target)).toBe('/v1/table/t/merge_insert?on=b&on=a&on=b')
  })

  it('refuse a parameter without a name', () => {
    expect(statusOf('GET', '/v1/namespace/$/list?=1')).toBe(400)
    expect(statusOf('GET', '/v1/namespace/$/list?&limit=1')).toBe(400)
    expect(() => parseTarget('GET', '/v1/namespace/$/list?a=1')).toThrow('unknown query parameter "a"')
    expect(() => parseTarget('POST', '/v1/table/t/query?branch=a')).toThrow('does not accept query parameter')
  })

  it('refuse a name without a value, even if it begins with a parameter name', () => {
    expect(() => parseTarget('GET', '/v1/namespace/$/list?page_tokens')).toThrow(
      'malformed query "page_tokens"; expected name=value',
    )
  })

  it('with an unknown parameter are refused with the list of valid ones', () => {
    expect(() => parseTarget('GET', '/v1/namespace/$/list?other=1')).toThrow(
      /^unknown query parameter "other" of ListNamespaces; expected delimiter, .*page_token/,
    )
  })

  it('decode names and values of the query once', () => {
    const { parameters } = parseTarget('GET', '/v1/namespace/$/list?page%5Ftoken=a%2525%26b%3Dc=d')
    expect(parameters.get('page_token')).toBe('a%25&b=c=d')
    expect(() => parseTarget('GET', '/v1/namespace/$/list?page_token=%ff')).toThrow(
      'the query parameter "page_token" is percent-encoded but not valid UTF-8',
    )
    expect(() => parseTarget('GET', '/v1/namespace/$/list?%ff=a')).toThrow(
      'a name in the query is percent-enc',
    )
  })

  it('encode all reserved characters, in upper case', () => {
    const target = parseTarget('GET', "/v1/namespace/$/list?page_token=a-._~!'()*/:%20%C3%A4%26")
    expect(buildTarget(target)).toBe(
      '/v1/namespace/%24/list?page_token=a-._~%21%27%28%29%2A%2F%3A%20%C3%A4%26',
    )
  })

  it('may contain an index name, which is validated as a name', () => {
    const target = parseTarget('POST', '/v1/table/t/index/i%C3%A4/stats')
    expect(target).toMatchObject({ id: ['t'], indexName: 'i\u00e4' })
    expect(buildTarget(target)).toBe('/v1/table/t/index/i%C3%A4/stats')
    expect(statusOf('POST', '/v1/table/t/index/%2e%2e/stats')).toBe(400)
    expect(statusOf('POST', '/v1/table/t/index/a%2Fb/stats')).toBe(400)
    expect(parseTarget('POST', '/v1/table/t/drop').indexName).toBeUndefined()
  })

  it('with a wrong method are refused with the list of allowed ones', () => {
    expect(() => parseTarget('PUT', '/v1/table/t/drop')).toThrow(
      expect.objectContaining({ status: 405, headers: { allow: 'POST' } }) as Error,
    )
    expect(() => parseTarget('PUT', '/v1/table/t/version/list')).toThrow(
      expect.objectContaining({ status: 405, headers: { allow: 'GET, POST' } }) as Error,
    )
  })

  it.each([
    ['/', 404],
    ['/v1', 404],
    ['/v1/', 404],
    ['/admin', 404],
    ['/admin/authz', 404],
    ['/admin/authz/acl', 406],
    ['/v1/table/t/drop//', 406],
    ['/v1/table/t', 406],
    ['/v1/table/t/index/i', 406],
  ])('are no route: %s, with status %i', (target, status) => {
    expect([statusOf('GET', target), statusOf('POST', target)]).toEqual([status, status])
  })

  it('that are no route are named as they were sent, with what was expected', () => {
    expect(() => parseTarget('GET', '/')).toThrow('unknown route "/"; expected a path below "/v1"')
    expect(() => parseTarget('GET', '/v1/table/t/drop', '/base')).toThrow('expected a path below "/base/v1"')
    expect(() => parseTarget('POST', '/v1/table/a/b/describe')).toThrow(
      expect.objectContaining({
        detail: expect.stringContaining('an id is one part of a path') as string,
      }) as Error,
    )
  })

  it('by an older path of the realtime engine keep that path', () => {
    const target = parseTarget('POST', '/v1/table/t/flush_lsm')
    expect(target.operation.name).toBe('FlushTableRte')
    expect(buildTarget(target)).toBe('/v1/table/t/flush_lsm')
  })

  it('upload a part of a multipart write, which creates no version, if they name one', () => {
    expect(parseTarget('POST', '/v1/table/t/insert').operation.effect).toBe('commit')
    expect(parseTarget('POST', '/v1/table/t/insert?upload_id=u').operation.effect).toBe('change')
  })

  it('that name a transaction name its table', () => {
    expect(parseTarget('POST', '/v1/transaction/t$x/describe').id).toEqual(['t', 'x'])
    expect(() => parseTarget('POST', '/v1/transaction/x/describe')).toThrow(
      'followed by a transaction; "x" names no table',
    )
  })

  it('begin with the base path, exactly once', () => {
    expect(parseTarget('POST', '/base/v1/table/t/drop/', '/base')).toMatchObject({ id: ['t'] })
    const others = ['/v1', '/base/base/v1', '/basement/v1', '/Base/v1']
    expect(others.map((other) => statusOf('POST', `${other}/table/t/drop`, '/base'))).toEqual(
      others.map(() => 404),
    )
    expect(statusOf('POST', '/base/v1/table/t/explode', '/base')).toBe(406)
  })

  it('with a part that is not UTF-8 are refused by the name of the part', () => {
    expect(() => parseTarget('POST', '/v1/table/%ff/drop')).toThrow('the id is percent-encoded')
    expect(() => parseTarget('POST', '/v1/table/t/index/%ff/stats')).toThrow(
      'the index name is percent-encoded',
    )
    expect(() => parseTarget('GET', '/v1/table/t/blob/%ff/7/bytes')).toThrow('the column is percent-encoded')
  })

  it('with an id that is ambiguous for the catalog are refused when they are rebuilt', () => {
    const sneaky = parseTarget('POST', '/v1/table/a%24b/drop?delimiter=.')
    expect(sneaky.id).toEqual(['a$b'])
    expect(() => buildTarget(sneaky)).toThrow(/contains "\$"/)
  })
})

function statusOf(method: string, target: string, basePath?: string): number {
  try {
    parseTarget(method, target, basePath)
    return 200
  } catch (error) {
    if (error instanceof CatalogError) return error.status
    throw error
  }
}
