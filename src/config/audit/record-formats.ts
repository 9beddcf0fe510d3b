/**
 * How a record is written for others. `json`: as it stands in the log, so that its hash still holds. `ocsf`: an API
 * Activity of the Open Cybersecurity Schema Framework. `cloudevents`: a CloudEvent 1.0 in its JSON format.
 */
export const recordFormats = ['json', 'ocsf', 'cloudevents'] as const

export type RecordFormat = (typeof recordFormats)[number]
