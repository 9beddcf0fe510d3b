/**
 * `json`: as stored, so that its hash stays valid. `ocsf`: OCSF API Activity. `cloudevents`: CloudEvents 1.0, JSON
 * format.
 */
export const recordFormats = ['json', 'ocsf', 'cloudevents'] as const

export type RecordFormat = (typeof recordFormats)[number]
