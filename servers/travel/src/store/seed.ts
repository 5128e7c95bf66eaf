import type { DatabaseSync } from 'node:sqlite'

/** What is in the calendar of every seeded year; month and day, with a time where there is one. */
const yearly: readonly (readonly [
  title: string,
  start: string,
  end: string,
  location: string,
  notes: string,
])[] = [
  ['Dentist', '05-12T09:30', '05-12T10:30', 'W 23rd St, New York', ''],
  ['Quarterly planning', '06-08', '06-10', 'New York office', 'In person, whole team.'],
  ["Maya's birthday dinner", '06-27T19:00', '06-27T22:30', 'Brooklyn', 'Book a table for six.'],
  ['Product launch', '07-06', '07-10', 'New York office', 'No leave this week.'],
  ['Parents visiting', '08-01', '08-05', 'Home', ''],
  ['Conference talk', '09-16', '09-17', 'Boston', 'Slides due a week before.'],
]

const pastTrips: readonly (readonly [
  name: string,
  title: string,
  destination: string,
  start: string,
  end: string,
  notes: string,
])[] = [
  [
    'barcelona-2023',
    'Barcelona, summer 2023',
    'Barcelona',
    '2023-06-17',
    '2023-06-24',
    `- Flights: overnight nonstop from New York, aisle seats. Slept well. The return with a 55-minute change was too tight.
- Hotel: sea view near Barceloneta beach, worth the price. Rooms on the street side were loud.
- Loved: Sagrada Família at opening time, Park Güell, tapas in El Born, the beach in the evening.
- Skip next time: restaurants on La Rambla.
- Spent: about $2,900 for two.`,
  ],
  [
    'lisbon-2024',
    'Lisbon, spring 2024',
    'Lisbon',
    '2024-04-12',
    '2024-04-18',
    `- Flights: one stop was fine, window seat for the landing over the city.
- Hotel: small place in Alfama. Charming, many stairs.
- Loved: pastéis de Belém, tram 28 early in the morning, a day in Sintra.
- Skip next time: driving in the old town.
- Spent: about $2,100 for two.`,
  ],
  [
    'kyoto-2025',
    'Kyoto, autumn 2025',
    'Osaka',
    '2025-11-08',
    '2025-11-18',
    `- Flights: landed in Osaka, train to Kyoto. Aisle seat on the long leg.
- Hotel: garden view in Higashiyama, quiet.
- Loved: Fushimi Inari before breakfast, Nishiki market, maple leaves at Tōfuku-ji.
- Skip next time: changing hotels halfway.
- Spent: about $5,200 for two.`,
  ],
]

/** Fills a new database, so that a first conversation has a calendar and past trips to look at. */
export function seed(database: DatabaseSync, now: Date): void {
  const event = database.prepare(
    'INSERT INTO events (id, title, start_date, end_date, location, notes) VALUES (?, ?, ?, ?, ?, ?)',
  )
  for (const year of [now.getUTCFullYear(), now.getUTCFullYear() + 1]) {
    for (const [index, [title, start, end, location, notes]] of yearly.entries()) {
      const id = `evt-${year}-${index + 1}`
      event.run(id, title, `${year}-${start}`, `${year}-${end}`, location, notes === '' ? null : notes)
    }
  }
  const trip = database.prepare(
    'INSERT INTO trips (name, title, destination, start_date, end_date, notes) VALUES (?, ?, ?, ?, ?, ?)',
  )
  for (const values of pastTrips) trip.run(...values)
}
