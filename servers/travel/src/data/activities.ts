/** City code, category, and places of that category, separated by semicolons. */
export const activityTable = `
BCN | museums      | Picasso Museum; Museu Nacional d'Art de Catalunya; Fundació Joan Miró; MACBA
BCN | architecture | Sagrada Família; Casa Batlló; Casa Milà; Park Güell; Palau de la Música Catalana
BCN | beaches      | Barceloneta; Bogatell; Nova Icària
BCN | food         | La Boqueria market; Tapas in El Born; Mercat de Sant Antoni
BCN | parks        | Parc de la Ciutadella; Montjuïc; Parc del Laberint d'Horta
NYC | museums      | Metropolitan Museum of Art; Museum of Modern Art; American Museum of Natural History
NYC | architecture | Empire State Building; Chrysler Building; Grand Central Terminal; Flatiron Building
NYC | parks        | Central Park; The High Line; Prospect Park
NYC | food         | Chelsea Market; Arthur Avenue in the Bronx; Smorgasburg in Williamsburg
LON | museums      | British Museum; Tate Modern; Victoria and Albert Museum; Natural History Museum
LON | architecture | St Paul's Cathedral; Tower Bridge; Westminster Abbey; Barbican
LON | parks        | Hyde Park; Richmond Park; Kew Gardens
LON | food         | Borough Market; Brick Lane; Maltby Street Market
PAR | museums      | Louvre; Musée d'Orsay; Centre Pompidou; Musée de l'Orangerie
PAR | architecture | Notre-Dame; Sainte-Chapelle; Eiffel Tower; Palais Garnier
PAR | parks        | Jardin du Luxembourg; Parc des Buttes-Chaumont; Tuileries
PAR | food         | Marché d'Aligre; Rue Cler; Marché des Enfants Rouges
ROM | museums      | Vatican Museums; Galleria Borghese; Capitoline Museums
ROM | architecture | Colosseum; Pantheon; St Peter's Basilica; Roman Forum
ROM | parks        | Villa Borghese; Appian Way Park; Villa Doria Pamphili
ROM | food         | Testaccio market; Campo de' Fiori; Trastevere
LIS | museums      | Calouste Gulbenkian Museum; National Tile Museum; MAAT
LIS | architecture | Jerónimos Monastery; Belém Tower; Santa Justa Lift
LIS | food         | Pastéis de Belém; Time Out Market; Ginjinha bars at Rossio
TYO | museums      | Tokyo National Museum; Mori Art Museum; Edo-Tokyo Museum
TYO | architecture | Sensō-ji; Tokyo Skytree; Meiji Shrine
TYO | parks        | Ueno Park; Shinjuku Gyoen; Yoyogi Park
TYO | food         | Tsukiji Outer Market; Ramen at Tokyo Station; Omoide Yokocho
BER | museums      | Pergamon Museum; Neues Museum; Jewish Museum
BER | architecture | Reichstag; Brandenburg Gate; Berlin Cathedral
BER | parks        | Tiergarten; Tempelhofer Feld; Treptower Park
AMS | museums      | Rijksmuseum; Van Gogh Museum; Anne Frank House
AMS | architecture | Royal Palace; Begijnhof; NEMO
AMS | parks        | Vondelpark; Westerpark; Artis
SYD | beaches      | Bondi; Manly; Coogee
SYD | architecture | Sydney Opera House; Harbour Bridge; Queen Victoria Building
SYD | museums      | Art Gallery of New South Wales; Australian Museum; Powerhouse
BGI | beaches      | Carlisle Bay; Crane Beach; Bathsheba
`
