//! Names by a model, which is asked about prose only, a unit at a time.

use crate::ascii::cut_str;
use crate::finding::Kind;
use crate::hit::Hit;
use crate::model::is_prose;
use crate::rules::Coded;
use crate::scan::Scanner;

impl Scanner<'_> {
    pub(super) fn model(&mut self) {
        let Some(model) = self.detector.name_model() else { return };
        self.each_unit(|scanner, start, end| {
            let unit = cut_str(scanner.text, start, end);
            if scanner.raw.fault.is_some() || !is_prose(unit) {
                return;
            }
            match model.names(unit) {
                Ok(spans) => {
                    for span in spans {
                        let coded = match span.kind {
                            Kind::Person => Coded::PersonModel,
                            Kind::Organization => Coded::OrganizationModel,
                            Kind::Place => Coded::PlaceModel,
                            Kind::Secret
                            | Kind::PrivateKey
                            | Kind::Password
                            | Kind::Email
                            | Kind::Phone
                            | Kind::Card
                            | Kind::Iban
                            | Kind::NationalId
                            | Kind::Passport
                            | Kind::IpAddress
                            | Kind::MacAddress
                            | Kind::CryptoAddress
                            | Kind::BirthDate
                            | Kind::Address
                            | Kind::Custom => continue,
                        };
                        if unit.get(span.range.clone()).is_some() {
                            let hit = Hit::datum(
                                start + span.range.start,
                                start + span.range.end,
                                coded.index(),
                                span.score,
                            );
                            scanner.raw.hits.push(hit);
                        }
                    }
                }
                Err(error) => scanner.raw.fault = Some(error),
            }
        });
    }
}
