/** The URIs of the resources. */
export const uris = {
  bookings: 'travel://bookings',
  outbox: 'travel://outbox',
  trips: 'trips://history',
  trip: (name: string): string => `trips://history/${encodeURIComponent(name)}`,
  calendar: (year: string): string => `calendar://events/${year}`,
  weather: (city: string, date: string): string => `weather://forecast/${encodeURIComponent(city)}/${date}`,
  flights: (origin: string, destination: string): string =>
    `travel://flights/${encodeURIComponent(origin)}/${encodeURIComponent(destination)}`,
} as const
