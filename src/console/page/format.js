import { element } from './elements.js'

/**
 * Marks text that came from a request.
 * @param {string} text
 */
export function quoted(text) {
  return element('span', { class: 'id' }, text)
}

/**
 * Formats an id as commands read it.
 * @param {readonly string[]} names
 */
export function formatId(names) {
  const isUnambiguous = names.every((name) => /^[^/$]+$/.test(name)) && !names[0]?.startsWith('[')
  return isUnambiguous ? names.join('/') || '/' : JSON.stringify(names)
}

/**
 * `12:03:59`, from milliseconds since 1970 or ISO 8601.
 * @param {number | string} time
 */
export function clock(time) {
  const date = new Date(time)
  return element(
    'time',
    { class: 'when quiet', datetime: date.toISOString(), title: date.toISOString() },
    timeOfDay(date),
  )
}

/** @param {Date} date */
export function timeOfDay(date) {
  return date.toLocaleTimeString([], { hour12: false })
}

/**
 * `3 h 20 min`.
 * @param {number} ms
 */
export function formatDuration(ms) {
  const minutes = Math.floor(ms / 60_000)
  if (minutes < 1) return `${Math.max(0, Math.floor(ms / 1000))} s`
  if (minutes < 60) return `${minutes} min`
  const hours = Math.floor(minutes / 60)
  return hours < 48 ? `${hours} h ${minutes % 60} min` : `${Math.floor(hours / 24)} days`
}

/**
 * `0.7 ms`, `12 ms`, `1.2 s`.
 * @param {number} value
 */
export function formatMs(value) {
  if (value >= 1000) return `${(value / 1000).toFixed(1)} s`
  return `${value < 10 ? value.toFixed(1) : Math.round(value)} ms`
}

/**
 * `1,204`, and `0.3` for numbers below ten.
 * @param {number} value
 */
export function formatNumber(value) {
  const digits = value < 10 && !Number.isInteger(value) ? 1 : 0
  return value.toLocaleString('en', { maximumFractionDigits: digits })
}
