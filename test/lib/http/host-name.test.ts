import { expect, it } from 'vitest'
import { isHostAndPort } from '../../../src/lib/http/urls.ts'

const hosts =
  'catalog.example catalog_1.example.: catalog:8181 192.0.2.1:80 [2001:db8::1] [::ffff:192.0.2.1]:80 caf%C3%A9.example'
const others = 'a/b a?b a#b user@a a:b a:80:80 [::1 ::1 [::1]a caf\u00e9 a% "a"'

it.each(['', ...hosts.split(' ')])('%j is a host, with or without a port', (text) => {
  expect(isHostAndPort(text)).toBe(true)
})

it.each(['a b', ...others.split(' ')])('%j is none', (text) => {
  expect(isHostAndPort(text)).toBe(false)
})
